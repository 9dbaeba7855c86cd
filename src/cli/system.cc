// SPDX-License-Identifier: Apache-2.0
// comity system list | show | validate | calibrate: machines, and how well the estimates on them agree with what was
// measured.
#include "workload/system.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/input.h"
#include "base/json.h"
#include "base/table.h"
#include "cli/command.h"
#include "cli/execution_options.h"
#include "workload/measured.h"
#include "workload/own_machine.h"

namespace comity::cli {
namespace {

using workload::MeasuredCase;
using workload::System;

struct MeasuredArgs {
  std::string file;
  std::string system;
  std::string cost = "nccl";
  std::vector<std::string> rows;  // ids that were (validate) or shall be (calibrate) fitted on
  std::string gpu;                // only rows of this GPU
  bool cpu = false;
  std::string write;  // calibrate: the file of the fitted machine
};

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

Status show_system(const std::string& name, const Globals&) {
  auto system = workload::load_system(name);
  if (!system) return fail(system.error());
  fmt::print("{}", workload::system_toml(*system));
  return {};
}

bool chosen_row(const std::vector<std::string>& rows, const std::string& id) {
  return std::find(rows.begin(), rows.end(), id) != rows.end();
}

Result<std::vector<MeasuredCase>> cases_of(const MeasuredArgs& args) {
  auto cases = workload::read_measured(args.file);
  if (!cases) return cases;
  if (!args.gpu.empty())
    std::erase_if(*cases, [&](const MeasuredCase& c) { return c.skipped.empty() && c.gpu != args.gpu; });
  for (const std::string& row : args.rows) {
    const bool known = std::any_of(cases->begin(), cases->end(), [&](const MeasuredCase& c) { return c.id == row; });
    if (!known)
      return fail(Code::kUsage, fmt::format("no row '{}' in {}", row, args.file),
                  "--rows takes ids as validate prints them");
  }
  return cases;
}

// Ranks with ties shared, then Pearson's coefficient of the ranks.
double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& v) {
    std::vector<double> r;
    for (const double x : v) {
      double rank = 0.5;
      for (const double y : v) rank += y < x ? 1 : y == x ? 0.5 : 0;
      r.push_back(rank);
    }
    return r;
  };
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

struct Agreement {
  std::size_t rows = 0;
  double mean = 0;  // percent
  double most = 0;
  double in_band = 0;   // share
  double spearman = 0;  // over all predicted rows
  double constant = 0;  // mean error of the best constant on all predicted rows, percent
};

Agreement agreement(const std::vector<MeasuredCase>& cases, const std::vector<double>& predicted,
                    const std::vector<std::string>& fitted, double band) {
  Agreement out;
  std::vector<double> values;
  std::vector<double> guesses;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].skipped.empty()) continue;
    values.push_back(cases[i].value);
    guesses.push_back(predicted[i]);
    if (chosen_row(fitted, cases[i].id)) continue;
    const double error = std::abs(predicted[i] / cases[i].value - 1);
    ++out.rows;
    out.mean += 100 * error;
    out.most = std::max(out.most, 100 * error);
    out.in_band += error <= band ? 1 : 0;
  }
  if (out.rows > 0) {
    out.mean /= static_cast<double>(out.rows);
    out.in_band /= static_cast<double>(out.rows);
  }
  out.spearman = spearman(guesses, values);
  if (values.empty()) return out;
  double best = std::numeric_limits<double>::infinity();
  for (const double constant : values) {
    double sum = 0;
    for (const double v : values) sum += std::abs(constant / v - 1);
    best = std::min(best, 100 * sum / static_cast<double>(values.size()));
  }
  out.constant = best;
  return out;
}

std::string set_up(const workload::Execution& e) {
  return fmt::format("t{} p{} d{}{}{} v{} b{}", e.tp, e.pp, e.dp, e.cp > 1 ? fmt::format(" c{}", e.cp) : "",
                     e.ep > 1 ? fmt::format(" e{}", e.ep) : "", e.virtual_stages, e.microbatch);
}

Status validate(const MeasuredArgs& args, const Globals& globals) {
  auto cases = cases_of(args);
  if (!cases) return fail(cases.error());
  auto system = workload::load_system(args.system);
  if (!system) return fail(system.error());
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  Table table({{"row", false},
               {"published"},
               {"predicted"},
               {"unit", false},
               {"error %"},
               {"set-up", false},
               {"fits", false},
               {"note", false}});
  JsonWriter json;
  json.begin_object().field("schema", "comity.validation/1").field("file", args.file).field("system", system->name);
  json.key("rows").begin_array();
  std::vector<double> predicted;
  for (const MeasuredCase& c : *cases) {
    if (!c.skipped.empty()) {
      predicted.push_back(0);
      table.add_row(
          {{c.id}, {fmt::format("{}", c.value)}, {""}, {""}, {""}, {""}, {""}, {"not predicted: " + c.skipped}});
      json.begin_object().field("id", c.id).field("published", c.value).field("skipped", c.skipped).end_object();
      continue;
    }
    const workload::Prediction p = workload::predict(c, *system, *cost);
    predicted.push_back(p.value);
    const double error = 100 * (p.value / c.value - 1);
    const bool fitted = chosen_row(args.rows, c.id);
    table.add_row({{c.id},
                   {fmt::format("{:.5g}", c.value)},
                   {fmt::format("{:.5g}", p.value)},
                   {std::string(workload::metric_unit(c.metric))},
                   {fmt::format("{:+.2f}", error)},
                   {set_up(p.execution)},
                   {p.estimate.fits ? "yes" : "no"},
                   {fitted ? "fitted on" : ""}});
    json.begin_object().field("id", c.id).field("published", c.value).field("predicted", p.value);
    json.field("unit", workload::metric_unit(c.metric)).field("error_percent", error).field("fitted", fitted);
    json.field("set_up", set_up(p.execution)).field("fits", p.estimate.fits).end_object();
  }
  const Agreement a = agreement(*cases, predicted, args.rows, system->error_band);
  json.end_array().field("rows_not_fitted", a.rows).field("mean_error_percent", a.mean);
  json.field("max_error_percent", a.most).field("spearman", a.spearman).field("in_band", a.in_band);
  json.field("error_band", system->error_band).field("constant_predictor_percent", a.constant).end_object();
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    fmt::print("{}\n", json.text());
    return {};
  }
  if (globals.output == Output::kCsv) {
    fmt::print("{}", table.csv());
    return {};
  }
  fmt::print(
      "{}\n{} rows not fitted on: mean error {:.2f} %, largest {:.2f} %, {:.0f} % within the band of {:.0f} %; rank "
      "correlation {:.3f}; the best constant would be {:.2f} % off\n",
      table.text(globals.colour), a.rows, a.mean, a.most, 100 * a.in_band, 100 * system->error_band, a.spearman,
      a.constant);
  return {};
}

Status run_own_machine(const MeasuredArgs& args, const Globals& globals) {
  auto start = workload::load_system(args.system);
  if (!start) return fail(start.error());
  const workload::OwnMachine own = workload::measure_machine(*start, 3);
  Table table({{"m"}, {"n"}, {"k"}, {"measured GFLOP/s"}, {"modelled GFLOP/s"}, {"error %"}});
  for (const workload::MeasuredGemm& p : own.products) {
    table.add_row({{fmt::format("{}", p.m)},
                   {fmt::format("{}", p.n)},
                   {fmt::format("{}", p.k)},
                   {fmt::format("{:.1f}", p.measured_gflop_s)},
                   {fmt::format("{:.1f}", p.modelled_gflop_s)},
                   {fmt::format("{:+.1f}", 100 * (p.modelled_gflop_s / p.measured_gflop_s - 1))}});
  }
  fmt::print(stderr, "{}copies move {:.1f} GB/s\n", table.text(globals.colour), own.copy_gb_s);
  const std::string toml = workload::system_toml(own.system);
  if (!args.write.empty()) return write_file(args.write, toml);
  fmt::print("{}", toml);
  return {};
}

Status run_calibrate(MeasuredArgs args, const Globals& globals) {
  if (args.cpu && args.system.empty()) args.system = "cpu";
  if (args.system.empty()) return fail(Code::kUsage, "--system is missing", "comity system list names the library's");
  if (args.cpu) return run_own_machine(args, globals);
  if (args.file.empty()) return fail(Code::kUsage, "measurements are missing", "give a CSV table, or --cpu");
  auto cases = cases_of(args);
  if (!cases) return fail(cases.error());
  auto system = workload::load_system(args.system);
  if (!system) return fail(system.error());
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  std::erase_if(*cases, [&](const MeasuredCase& c) {
    return !c.skipped.empty() || (!args.rows.empty() && !chosen_row(args.rows, c.id));
  });
  if (cases->empty()) return fail(Code::kInput, "no row to fit on", "--rows names some");
  workload::Fit fit = workload::calibrate(*system, *cases, *cost);
  std::vector<std::string> ids;
  for (const MeasuredCase& c : *cases) ids.push_back(c.id);
  fit.system.calibrated_on = fmt::format("{}", fmt::join(ids, "; "));
  const std::string toml = workload::system_toml(fit.system);
  fmt::print(stderr, "comity: fitted on {} rows: mean error there {:.2f} %, {} estimates\n", cases->size(),
             100 * fit.error, fit.estimates);
  if (!args.write.empty()) return write_file(args.write, toml);
  fmt::print("{}", toml);
  return {};
}

void add_measured_options(CLI::App* sub, const std::shared_ptr<MeasuredArgs>& args, const char* rows) {
  sub->add_option("measurements", args->file, "a CSV table of published or own measurements")->required();
  sub->add_option("--system", args->system, "a machine of the library, or a file")->required();
  sub->add_option("--rows", args->rows, rows)->delimiter(',');
  sub->add_option("--gpu", args->gpu, "only rows of this GPU: A100, H100, H800");
  sub->add_option("--cost", args->cost, "what a collective costs: nccl (default) or alpha_beta")
      ->check(CLI::IsMember({"nccl", "alpha_beta"}));
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
  CLI::App* check = noun->add_subcommand("validate", "estimates beside measurements, row by row");
  check->footer("Example: comity system validate measured.csv --system dgx-a100");
  auto args = std::make_shared<MeasuredArgs>();
  add_measured_options(check, args, "ids of rows that the machine was fitted on: shown, not counted");
  check->callback(
      [args, &chosen] { chosen.run = [args](const Globals& globals) { return validate(*args, globals); }; });
  CLI::App* fit = noun->add_subcommand("calibrate", "fit a machine's efficiencies to measurements");
  fit->footer("Example: comity system calibrate measured.csv --system dgx-a100 --write mine.toml");
  auto fit_args = std::make_shared<MeasuredArgs>();
  add_measured_options(fit, fit_args, "ids of the rows to fit on (default: all)");
  fit->get_option("measurements")->required(false);
  fit->get_option("--system")->required(false);
  fit->add_flag("--cpu", fit_args->cpu, "measure this machine's own processor instead (about 3 s)");
  fit->add_option("--write", fit_args->write, "the file to write (default: standard output)");
  fit->callback([fit_args, &chosen] {
    chosen.run = [fit_args](const Globals& globals) { return run_calibrate(*fit_args, globals); };
  });
}

}  // namespace comity::cli
