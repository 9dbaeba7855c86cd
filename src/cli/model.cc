// SPDX-License-Identifier: Apache-2.0
// comity model list | show: the library of models, and what one is made of.
#include "workload/model.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/command.h"

namespace comity::cli {
namespace {

using workload::Model;
using workload::Parameters;

std::string billions(double parameters) { return fmt::format("{:.2f}", parameters * 1e-9); }

void write_model(JsonWriter& json, const Model& m, bool with_schema) {
  const Parameters p = workload::parameters(m);
  json.begin_object();
  if (with_schema) json.field("schema", "comity.model/1");
  json.field("name", m.name).field("parameters", p.total).field("active_parameters", p.active);
  json.field("layers", m.layers).field("hidden", m.hidden).field("heads", m.heads).field("kv_heads", m.kv_heads);
  json.field("head_width", m.head_width).field("ffn", m.ffn).field("vocab", m.vocab).field("sequence", m.sequence);
  json.field("gated", m.gated).field("tied_embeddings", m.tied_embeddings).field("source", m.source);
  if (m.has_moe()) {
    json.key("moe").begin_object().field("experts", m.moe.experts).field("top_k", m.moe.top_k);
    json.field("ffn", m.moe.ffn).field("shared_experts", m.moe.shared_experts).field("layers", m.moe_layers());
    json.end_object();
  }
  json.key("parameters_by_part").begin_object();
  json.field("embedding", p.embedding).field("output", p.output).field("attention", p.attention).field("mlp", p.mlp);
  json.field("experts", p.experts).field("shared_experts", p.shared).field("router", p.router).field("norms", p.norms);
  json.field("mtp", p.mtp).end_object();
  json.field("flops_per_sequence", workload::model_flops(m, 1, m.sequence, false));
  json.end_object();
}

Status list_models(const Globals& globals) {
  std::vector<Model> models;
  for (const std::string& name : workload::model_names()) {
    auto model = workload::load_model(name);
    if (!model) return fail(model.error());
    models.push_back(std::move(*model));
  }
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.models/1").key("models").begin_array();
    for (const Model& m : models) write_model(json, m, false);
    fmt::print("{}\n", json.end_array().end_object().text());
    return {};
  }
  Table table({{"model", false},
               {"parameters (10^9)"},
               {"active (10^9)"},
               {"layers"},
               {"hidden"},
               {"heads"},
               {"experts"},
               {"sequence"},
               {"source", false}});
  for (const Model& m : models) {
    const Parameters p = workload::parameters(m);
    table.add_row({{m.name},
                   {billions(p.total), p.total},
                   {billions(p.active), p.active},
                   {std::to_string(m.layers)},
                   {std::to_string(m.hidden)},
                   {std::to_string(m.heads)},
                   {m.has_moe() ? std::to_string(m.moe.experts) : ""},
                   {std::to_string(m.sequence)},
                   {m.source}});
  }
  fmt::print("{}", globals.output == Output::kCsv ? table.csv() : table.text(globals.colour));
  return {};
}

Status show_model(const std::string& name, bool toml, const Globals& globals) {
  if (toml && globals.output != Output::kTable)
    return fail_option("--toml", "prints TOML and no other format", "leave out --toml, or -o");
  auto model = workload::load_model(name);
  if (!model) return fail(model.error());
  if (toml) {
    fmt::print("{}", workload::model_toml(*model));
    return {};
  }
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    write_model(json, *model, true);
    fmt::print("{}\n", json.text());
    return {};
  }
  const Parameters p = workload::parameters(*model);
  Table table({{"part", false}, {"parameters"}, {"share %"}});
  const auto row = [&](const char* part, double n) {
    if (n > 0) table.add_row({{part}, {fmt::format("{:.0f}", n), n}, {fmt::format("{:.2f}", 100 * n / p.total)}});
  };
  row("embedding", p.embedding);
  row("output head", p.output);
  row("attention", p.attention);
  row("dense feed-forward", p.mlp);
  row("routed experts", p.experts);
  row("shared experts", p.shared);
  row("router", p.router);
  row("norms", p.norms);
  row("multi-token prediction", p.mtp);
  row("all", p.total);
  if (globals.output == Output::kCsv) {
    fmt::print("{}", table.csv());
    return {};
  }
  fmt::print("{}: {} billion parameters, {} billion active; {} layers, hidden {}, {} heads, sequence {}\n{}\n\n{}",
             printable(model->name), billions(p.total), billions(p.active), model->layers, model->hidden, model->heads,
             model->sequence, printable(model->source, 1024), table.text(globals.colour));
  return {};
}

}  // namespace

void add_model(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("model", "models as shapes and parameters: list, show");
  noun->require_subcommand(1);
  noun->footer("Example: comity model show llama3-70b");
  CLI::App* list = noun->add_subcommand("list", "every model of the library in a line");
  list->footer("Example: comity model list -o json");
  list->callback([&chosen] { chosen.run = list_models; });
  CLI::App* show = noun->add_subcommand("show", "one model: its parameters by part");
  show->footer("Example: comity model show gpt3-175b -o json");
  auto name = std::make_shared<std::string>();
  auto toml = std::make_shared<bool>(false);
  show->add_option("model", *name, "a name of the library, or a file: .toml, config.json, Calculon's .json")
      ->required();
  show->add_flag("--toml", *toml, "print it as a file that --model takes");
  show->callback([name, toml, &chosen] {
    chosen.run = [name, toml](const Globals& globals) { return show_model(*name, *toml, globals); };
  });
}

}  // namespace comity::cli
