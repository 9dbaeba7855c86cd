// SPDX-License-Identifier: Apache-2.0
#include "workload/setups.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/toml.h"
#include "workload/library.h"
#include "workload/toml_fields.h"

namespace comity::workload {
namespace {

constexpr std::array<std::pair<std::string_view, Metric>, 5> kMetrics = {{{"step_s", Metric::kStepSeconds},
                                                                          {"model_tflops", Metric::kModelTflops},
                                                                          {"causal_tflops", Metric::kCausalTflops},
                                                                          {"mfu", Metric::kMfuPercent},
                                                                          {"causal_mfu", Metric::kCausalMfuPercent}}};

void read_metric(TomlReader& reader, Setup& setup) {
  const std::string name = reader.text("metric", "step_s");
  setup.one_moe_block = name == "moe";
  for (const auto& [known, metric] : kMetrics)
    if (known == name) setup.metric = metric;
}

Status read_model(TomlReader& reader, Setup& setup) {
  const std::string name = reader.text("model", "");
  if (name.empty()) return {};
  auto model = load_model(name);
  if (!model) return fail(model.error());
  setup.model = std::move(*model);
  setup.model.moe.experts = reader.integer("experts", setup.model.moe.experts, 1, 1 << 20);
  if (!reader.boolean("shared_experts", true)) setup.model.moe.shared_experts = setup.model.moe.shared_ffn = 0;
  return {};
}

Status read_setup(TomlReader& reader, const std::vector<Setup>& before, std::vector<Setup>& out) {
  Setup setup;
  if (const std::string same = reader.text("same_as", ""); !same.empty()) {
    const auto found = std::find_if(before.begin(), before.end(), [&](const Setup& s) { return s.id == same; });
    if (found == before.end()) reader.refuse("same_as", "names no set-up above");
    if (found != before.end()) setup = *found;
  }
  setup.id = reader.text("id", "");
  setup.reason = reader.text("reason", "");
  setup.gpu = reader.text("gpu", setup.gpu);
  setup.source = reader.text("source", setup.source);
  read_metric(reader, setup);
  if (auto status = read_model(reader, setup); !status) return status;
  if (reader.has("microbatches")) setup.microbatches = reader.integers("microbatches", 1, 1 << 20);
  if (reader.has("virtual_stages")) setup.virtual_stages = reader.integers("virtual_stages", 1, 1 << 20);
  if (auto table = reader.table("execution")) {
    read_execution_fields(*table, setup.base);
    if (auto status = table->finish(); !status) return status;
  }
  if (reader.text("datatype", "") == "fp8") setup.base.datatype = Datatype::kFp8;
  setup.base.fused = reader.boolean("fused", setup.base.fused);
  if (auto status = reader.finish(); !status) return status;
  out.push_back(std::move(setup));
  return {};
}

Result<std::vector<Setup>> parse_setups(std::string_view toml, const std::string& file) {
  auto table = parse_toml(toml, file);
  if (!table) return fail(table.error());
  TomlReader reader(*table, file, "");
  read_schema(reader, "comity.setups/1");
  std::vector<Setup> out;
  for (TomlReader& each : reader.tables("setup"))
    if (auto status = read_setup(each, out, out); !status) return fail(status.error());
  if (auto status = reader.finish(); !status) return fail(status.error());
  return out;
}

const std::vector<Setup>& setups() {
  static const std::vector<Setup> all = [] {
    auto got = parse_setups(library_measured().front().text, "data/measured/setups.toml");
    COMITY_CHECK(got.has_value());  // the program's own file; a test reads it
    return std::move(*got);
  }();
  return all;
}

// '*' stands for any text.
bool matches(std::string_view pattern, std::string_view id) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == id;
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return id.size() + 1 >= pattern.size() && id.starts_with(head) && id.ends_with(tail);
}

}  // namespace

const Setup* find_setup(std::string_view id) {
  for (const Setup& setup : setups())
    if (matches(setup.id, id)) return &setup;
  return nullptr;
}

}  // namespace comity::workload
