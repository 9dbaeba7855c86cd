// SPDX-License-Identifier: Apache-2.0
// comity system list | show: machines; validate and calibrate are in system_measured.h.
#include "workload/system.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/table.h"
#include "cli/command.h"
#include "cli/execution_options.h"
#include "cli/system_json.h"
#include "cli/system_measured.h"

namespace comity::cli {
namespace {

using workload::System;

Status list_systems(const Globals& globals) {
  Table table({{"machine", false},
               {"GPU", false},
               {"bf16 TFLOP/s"},
               {"memory GiB"},
               {"memory GB/s"},
               {"GPUs a node"},
               {"in the node GB/s"},
               {"between nodes GB/s"},
               {"calibrated on", false}});
  JsonWriter json;
  json.begin_object().field("schema", "comity.systems/1").key("systems").begin_array();
  for (const std::string& name : workload::system_names()) {
    auto system = workload::load_system(name);
    if (!system) return fail(system.error());
    const System& s = *system;
    const double inner = s.networks.empty() ? 0 : s.networks.front().gb_s;
    const double outer = s.networks.size() < 2 ? 0 : s.networks[1].gb_s;
    json.begin_object().field("name", s.name).field("gpu", s.gpu).field("bf16_tflops", s.tflops[0]);
    json.field("memory_gib", s.memory_gib).field("memory_gb_s", s.memory_gb_s).field("gpus_per_node", s.gpus_per_node);
    json.field("calibrated_on", s.calibrated_on).field("source", s.source).end_object();
    table.add_row({{s.name},
                   {s.gpu},
                   {fmt::format("{}", s.tflops[0])},
                   {fmt::format("{}", s.memory_gib)},
                   {fmt::format("{}", s.memory_gb_s)},
                   {std::to_string(s.gpus_per_node)},
                   {fmt::format("{}", inner)},
                   {fmt::format("{}", outer)},
                   {s.calibrated_on}});
  }
  if (globals.output == Output::kJson || globals.output == Output::kJsonl)
    fmt::print("{}\n", json.end_array().end_object().text());
  else
    fmt::print("{}", globals.output == Output::kCsv ? table.csv() : table.text(globals.colour));
  return {};
}

Status show_system(const std::string& name, const Globals& globals) {
  if (auto status = check_machine_output(globals.output); !status) return status;
  auto system = load_machine(name);
  if (!system) return fail(system.error());
  return print_machine(*system, globals.output);
}

}  // namespace

void add_system(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("system", "machines for training: list, show, validate, calibrate");
  noun->require_subcommand(1);
  noun->footer("Example: comity system list");
  CLI::App* list = noun->add_subcommand("list", "every machine of the library in a line");
  list->footer("Example: comity system list -o json");
  list->callback([&chosen] { chosen.run = list_systems; });
  CLI::App* show = noun->add_subcommand("show", "a machine as a file that --system takes");
  show->footer("Example: comity system show dgx-h100");
  auto name = std::make_shared<std::string>();
  show->add_option("machine", *name, "a name of the library, or a file")->required();
  show->callback(
      [name, &chosen] { chosen.run = [name](const Globals& globals) { return show_system(*name, globals); }; });
  add_system_validate(*noun, chosen);
  add_system_calibrate(*noun, chosen);
}

}  // namespace comity::cli
