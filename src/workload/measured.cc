// SPDX-License-Identifier: Apache-2.0
#include "workload/measured.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/input.h"
#include "base/text.h"
#include "workload/kernels.h"
#include "workload/setups.h"

namespace comity::workload {
namespace {

constexpr std::size_t kMaxRows = 10'000;

// One row with its column names.
class Row {
 public:
  Row(const std::string& file, std::int64_t line, const std::vector<std::string>& names,
      const std::vector<std::string_view>& fields)
      : file_(file), line_(line) {
    for (std::size_t i = 0; i < names.size() && i < fields.size(); ++i) values_.emplace_back(names[i], fields[i]);
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    for (const auto& [key, value] : values_)
      if (key == name) return value;
    return {};
  }
  [[nodiscard]] double real(std::string_view name) {
    const std::string value = text(name);
    const auto number = parse_double(trim(value));
    if (number && *number > 0 && *number < 1e15) return *number;
    if (status_) status_ = fail(error(name, fmt::format("'{}' is no positive number", printable(value, 40))));
    return 1;
  }
  [[nodiscard]] std::int64_t integer(std::string_view name) { return static_cast<std::int64_t>(real(name)); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] Error error(std::string_view field, std::string message) const {
    Error e;
    e.code = Code::kInput;
    e.message = std::move(message);
    e.file = file_;
    e.line = line_;
    e.field = std::string(field);
    return e;
  }

 private:
  const std::string& file_;
  std::int64_t line_;
  std::vector<std::pair<std::string, std::string>> values_;
  Status status_;
};

Model gpt(Row& row) {
  Model m;
  m.heads = row.integer("heads");
  m.hidden = row.integer("hidden");
  m.layers = row.integer("layers");
  m.vocab = row.integer("vocab");
  m.sequence = row.integer("seq");
  m.kv_heads = m.heads;
  m.head_width = std::max<std::int64_t>(1, m.hidden / m.heads);
  m.ffn = 4 * m.hidden;
  m.positions = m.sequence;
  return m;
}

// Unfused attention through memory, half precision: Megatron-LM before fused attention.
Execution megatron_2021() {
  Execution e;
  e.datatype = Datatype::kFp16;
  e.flash_attention = false;
  e.causal_skip = false;
  e.dp_overlap = false;
  return e;
}
// Megatron-Core with fused attention, the distributed optimizer and overlap.
Execution megatron_core() {
  Execution e;
  e.zero = 1;
  e.tp_overlap = true;
  return e;
}

// The rule for what a source leaves open.
void add_candidates(const Execution& base, const std::vector<std::int64_t>& microbatches,
                    const std::vector<std::int64_t>& chunks, MeasuredCase& out) {
  for (const std::int64_t b : microbatches) {
    for (const std::int64_t v : chunks) {
      Execution e = base;
      e.microbatch = b;
      e.virtual_stages = v;
      if (e.batch % (b * e.dp) != 0 || out.model.layers < e.pp * v) continue;
      if (v > 1 && (e.pp == 1 || e.microbatches() % e.pp != 0)) continue;
      if (v > 1) e.schedule = Schedule::kInterleaved;
      out.candidates.push_back(e);
    }
  }
}
const std::vector<std::int64_t> kAnyMicrobatch = {1, 2, 4, 8};
const std::vector<std::int64_t> kAnyChunks = {1, 2, 3, 4};

Status korthikanti(Row& row, std::vector<MeasuredCase>& out) {
  for (const bool selective : {false, true}) {
    MeasuredCase c;
    c.id = row.text("model") + (selective ? " seqsel" : " full");
    c.gpu = "A100";
    c.model = gpt(row);
    c.model.name = row.text("model");
    Execution e = megatron_2021();
    e.tp = row.integer("tp");
    e.pp = row.integer("pp");
    e.batch = row.integer("global_batch");
    e.recompute = selective ? Recompute::kSelective : Recompute::kFull;
    e.sequence_parallel = selective;
    add_candidates(e, {row.integer("microbatch")}, {row.integer("interleave")}, c);
    c.value = row.real(selective ? "seqpar_selective_s" : "full_recompute_s");
    if (!row.status()) return row.status();
    if (c.candidates.empty()) return fail(row.error("interleave", "no legal execution"));
    out.push_back(std::move(c));
  }
  return {};
}

Status scaling(Row& row, std::vector<MeasuredCase>& out) {
  MeasuredCase c;
  c.id = row.text("id");
  c.model = gpt(row);
  c.model.name = c.id;
  const bool hopper = row.text("gpu").starts_with("H100");
  c.gpu = hopper ? "H100" : "A100";
  Execution e = hopper ? megatron_core() : megatron_2021();
  c.model.tied_embeddings = !hopper;
  c.metric = hopper ? Metric::kModelTflops : Metric::kSc21Tflops;
  e.tp = row.integer("tp");
  e.pp = row.integer("pp");
  e.dp = row.integer("dp");
  e.batch = row.integer("global_batch");
  e.recompute = hopper ? Recompute::kNone : Recompute::kFull;
  e.sequence_parallel = hopper && e.tp > 1;
  add_candidates(e, kAnyMicrobatch, kAnyChunks, c);
  c.value = row.real("tflops_per_gpu");
  if (!row.status()) return row.status();
  if (c.candidates.empty()) return fail(row.error("global_batch", "no legal execution"));
  out.push_back(std::move(c));
  return {};
}

Status llama3(Row& row, std::vector<MeasuredCase>& out) {
  MeasuredCase c;
  c.id = fmt::format("llama3-405b {} GPUs sequence {}", row.text("gpus"), row.text("seq"));
  c.gpu = "H100";
  auto model = load_model("llama3-405b");
  if (!model) return fail(model.error());
  c.model = std::move(*model);
  c.metric = Metric::kModelTflops;
  Execution e = megatron_core();
  e.tp = row.integer("tp");
  e.cp = row.integer("cp");
  e.pp = row.integer("pp");
  e.dp = row.integer("dp");
  e.sequence = row.integer("seq");
  e.batch = e.dp * row.integer("batch_per_dp");
  e.dropout = false;
  e.sequence_parallel = true;
  add_candidates(e, {1}, {2, 4, 8}, c);  // the paper says interleaved, but not how many chunks
  c.value = row.real("tflops_per_gpu");
  if (!row.status()) return row.status();
  if (c.candidates.empty()) return fail(row.error("batch_per_dp", "no legal execution"));
  out.push_back(std::move(c));
  return {};
}

// Narayanan et al., table 2: 3-D parallelism against ZeRO-3 without model parallelism.
Status zero3(Row& row, std::vector<MeasuredCase>& out) {
  MeasuredCase c;
  const bool sharded = row.text("scheme") == "zero3";
  const std::int64_t gpus = row.integer("gpus");
  c.id = fmt::format("{} {}B {} GPUs", row.text("scheme"), row.text("params_b"), gpus);
  c.gpu = "A100";
  c.metric = Metric::kSc21Tflops;
  const bool large = row.real("params_b") > 300;
  auto model = load_model(large ? "megatron-530b" : "gpt3-175b");
  if (!model) return fail(model.error());
  c.model = std::move(*model);
  Execution e = megatron_2021();
  const std::int64_t parallel = row.integer("model_parallel_size");
  e.tp = sharded ? 1 : 8;
  e.pp = std::max<std::int64_t>(1, parallel / e.tp);
  e.dp = std::max<std::int64_t>(1, gpus / (e.tp * e.pp));
  e.batch = row.integer("global_batch");
  e.zero = sharded ? 3 : 0;
  e.gradient_bytes = sharded ? 2 : 4;
  e.dp_overlap = sharded;
  e.recompute = Recompute::kFull;
  add_candidates(e, {row.integer("microbatch")}, sharded ? std::vector<std::int64_t>{1} : kAnyChunks, c);
  c.value = row.real("tflops_per_gpu");
  if (!row.status()) return row.status();
  if (c.candidates.empty()) return fail(row.error("global_batch", "no legal execution"));
  out.push_back(std::move(c));
  return {};
}

// (id, metric, value): the set-up comes from the program's table.
Status listed(Row& row, std::string_view id_column, std::string_view metric, double value,
              std::vector<MeasuredCase>& out) {
  const std::string id = row.text(id_column);
  MeasuredCase c;
  c.id = metric.empty() ? id : fmt::format("{} {}", id, metric);
  const Setup* setup = find_setup(id);
  c.value = value;
  if (setup == nullptr) {
    c.skipped = "no set-up is known";
  } else if (!setup->reason.empty()) {
    c.skipped = setup->reason;
  } else {
    c.gpu = setup->gpu;
    c.metric = !setup->one_moe_block ? setup->metric
               : metric == "forward" ? Metric::kMoeForwardMs
                                     : Metric::kMoeBackwardMs;
    c.model = setup->model;
    add_candidates(setup->base, setup->microbatches, setup->virtual_stages, c);
    if (c.candidates.empty()) c.skipped = "the set-up has no legal execution";
  }
  out.push_back(std::move(c));
  return {};
}

Status other(Row& row, std::vector<MeasuredCase>& out) {
  const auto value = parse_double(trim(row.text("value")));
  return listed(row, "id", "", value ? *value : 0, out);
}

Status moe_layer(Row& row, std::vector<MeasuredCase>& out) {
  const double forward = row.real("forward_ms");
  const double backward = row.real("backward_ms");
  if (!row.status()) return row.status();
  if (auto status = listed(row, "case", "forward", forward, out); !status) return status;
  return listed(row, "case", "backward", backward, out);
}

using Reader = Status (*)(Row&, std::vector<MeasuredCase>&);
struct Kind {
  std::vector<std::string_view> columns;  // all of them must be there
  Reader read;
};
const std::array<Kind, 6>& kinds() {
  static const std::array<Kind, 6> all = {Kind{{"seqpar_selective_s", "full_recompute_s", "interleave"}, korthikanti},
                                          Kind{{"tflops_per_gpu", "hidden", "global_batch", "dp"}, scaling},
                                          Kind{{"batch_per_dp", "cp", "tflops_per_gpu"}, llama3},
                                          Kind{{"scheme", "params_b", "model_parallel_size", "tflops_per_gpu"}, zero3},
                                          Kind{{"id", "metric", "value"}, other},
                                          Kind{{"case", "forward_ms", "backward_ms"}, moe_layer}};
  return all;
}

Reader reader_of(const std::vector<std::string>& names) {
  for (const Kind& kind : kinds()) {
    const bool all = std::all_of(kind.columns.begin(), kind.columns.end(), [&](std::string_view column) {
      return std::find(names.begin(), names.end(), column) != names.end();
    });
    if (all) return kind.read;
  }
  return nullptr;
}

}  // namespace

std::string_view metric_unit(Metric metric) {
  switch (metric) {
    case Metric::kStepSeconds: return "s";
    case Metric::kSc21Tflops:
    case Metric::kModelTflops:
    case Metric::kCausalTflops: return "TFLOP/s";
    case Metric::kMfuPercent:
    case Metric::kCausalMfuPercent: return "% MFU";
    case Metric::kMoeForwardMs:
    case Metric::kMoeBackwardMs: return "ms";
  }
  return "";
}

Result<std::vector<MeasuredCase>> read_measured(const std::string& path) {
  auto source = open_source(path);
  if (!source) return fail(source.error());
  LineReader lines(std::move(*source), printable(path, 1024));
  std::vector<MeasuredCase> out;
  std::vector<std::string> names;
  std::vector<std::string_view> fields;
  std::string scratch;
  Reader read = nullptr;
  for (std::size_t rows = 0;;) {
    auto line = lines.next();
    if (!line) return fail(line.error());
    if (line->at_end) break;
    if (trim(line->text).empty()) continue;
    if (!split_csv(line->text, ',', fields, scratch))
      return fail(Error{Code::kInput, "a quote is not closed", lines.name(), line->number, {}, {}, {}});
    if (read == nullptr) {
      for (const std::string_view field : fields) names.emplace_back(trim(field));
      read = reader_of(names);
      if (read != nullptr) continue;
      return fail(Error{Code::kInput,
                        "the columns are those of no known table of measurements",
                        lines.name(),
                        line->number,
                        {},
                        "comity system validate --help names the kinds",
                        {}});
    }
    if (++rows > kMaxRows)
      return fail(Error{Code::kInput, "more than 10,000 rows", lines.name(), line->number, {}, {}, {}});
    if (fields.size() != names.size())
      return fail(Error{Code::kInput,
                        fmt::format("{} fields where the header has {}", fields.size(), names.size()),
                        lines.name(),
                        line->number,
                        {},
                        {},
                        {}});
    Row row(lines.name(), line->number, names, fields);
    if (auto status = read(row, out); !status) return fail(status.error());
  }
  if (read == nullptr) return fail(Error{Code::kInput, "the file is empty", lines.name(), 0, {}, {}, {}});
  return out;
}

Prediction predict(const MeasuredCase& measured, const System& system, CostModel cost) {
  Prediction out;
  const Execution* chosen = nullptr;
  for (const bool must_fit : {true, false}) {
    for (const Execution& e : measured.candidates) {
      const Estimate got = estimate(measured.model, e, system, cost);
      if ((must_fit && !got.fits) || (chosen != nullptr && got.iteration_s >= out.estimate.iteration_s)) continue;
      out.estimate = got;
      chosen = &e;
    }
    if (chosen != nullptr) break;
  }
  if (chosen == nullptr) return out;
  out.execution = *chosen;
  const Execution& e = *chosen;
  const double batch = static_cast<double>(e.batch);
  const std::int64_t tokens = e.tokens(measured.model);
  const double per_gpu = 1e-12 / (out.estimate.iteration_s * static_cast<double>(e.gpus()));
  const double peak = peak_flops(system, e.datatype == Datatype::kFp8 ? Datatype::kBf16 : e.datatype) * 1e-12;
  const auto flops = [&](bool half) { return model_flops(measured.model, batch, tokens, half) * per_gpu; };
  switch (measured.metric) {
    case Metric::kStepSeconds: out.value = out.estimate.iteration_s; break;
    case Metric::kSc21Tflops: out.value = sc21_flops(measured.model, batch, tokens, true) * per_gpu; break;
    case Metric::kModelTflops: out.value = flops(false); break;
    case Metric::kCausalTflops: out.value = flops(true); break;
    case Metric::kMfuPercent: out.value = 100 * flops(false) / peak; break;
    case Metric::kCausalMfuPercent: out.value = 100 * flops(true) / peak; break;
    case Metric::kMoeForwardMs:
    case Metric::kMoeBackwardMs: {
      const PassTimes pass = moe_block(measured.model, e, system, cost);
      out.value = 1e3 * (measured.metric == Metric::kMoeForwardMs ? pass.all_forward() : pass.all_backward());
      break;
    }
  }
  return out;
}

}  // namespace comity::workload
