// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "workload/execution.h"
#include "workload/execution_limits.h"
#include "workload/findings.h"

namespace comity::workload {
namespace {

std::int64_t all_layers(const Model& model) { return model.layers + model.encoder_layers; }

// "1, 2, 4 or 8": the divisors of n, the largest ones where there are many.
std::string divisors(std::int64_t n) {
  constexpr std::int64_t kLooked = 100'000;
  constexpr std::size_t kShown = 12;
  std::vector<std::int64_t> small;
  std::vector<std::int64_t> large;
  for (std::int64_t i = 1; i <= kLooked && i * i <= n; ++i) {
    if (n % i != 0) continue;
    small.push_back(i);
    if (i * i != n) large.push_back(n / i);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  if (small.size() > kShown) return fmt::format("a divisor of {}, such as {}", n, small[small.size() / 2]);
  return small.size() == 1 ? "1" : fmt::format("one of {}", fmt::join(small, ", "));
}

// One fits where it divides the other: heads over ranks, or ranks that hold copies of one head.
bool spread(std::int64_t heads, std::int64_t ranks) { return heads % ranks == 0 || ranks % heads == 0; }

void divides(Findings& found, std::string_view field, std::int64_t degree, std::int64_t n, std::string_view what) {
  found.need(
      n % degree == 0, field, [&] { return fmt::format("{} {} cannot be split over {} = {}", n, what, field, degree); },
      [&] { return fmt::format("use {}", divisors(n)); });
}

void check_degree(Findings& found, std::string_view field, std::int64_t degree) {
  found.need(
      degree >= 1 && degree <= kMaxDegree, field,
      [&] { return fmt::format("must be a whole number between 1 and {}, not {}", kMaxDegree, degree); },
      [] { return std::string(); });
}

void check_ranges(Findings& found, const Execution& e) {
  check_degree(found, "tp", e.tp);
  check_degree(found, "cp", e.cp);
  check_degree(found, "pp", e.pp);
  check_degree(found, "dp", e.dp);
  check_degree(found, "ep", e.ep);
  check_degree(found, "virtual_stages", e.virtual_stages);
  check_degree(found, "microbatch", e.microbatch);
  found.need(e.batch >= 1 && e.batch <= kMaxBatch, "batch", "must be between 1 and 1000000000 sequences");
  found.need(e.sequence >= 0 && e.sequence <= kMaxBatch, "sequence",
             "must be between 0 (the model's) and 1000000000 tokens");
  found.need(e.zero >= 0 && e.zero <= 3, "zero", "must be 0, 1, 2 or 3");
  found.need(e.gradient_bytes == 2 || e.gradient_bytes == 4, "gradient_bytes", "must be 2 or 4");
  const auto share = [](double v) { return v >= 0 && v <= 1; };
  found.need(share(e.recompute_share), "recompute_share", "must be between 0 and 1");
  found.need(share(e.activation_offload), "activation_offload", "must be between 0 and 1");
  found.need(e.expert_capacity >= 0 && e.expert_capacity <= kMaxFactor, "expert_capacity",
             "must be 0 (dropless) or a capacity factor");
  found.need(e.expert_node_limit >= 0 && e.expert_node_limit <= kMaxDegree, "expert_node_limit",
             "must be 0 (no limit) or a number of nodes");
  found.need(e.expert_skew >= 1 && e.expert_skew <= kMaxFactor, "expert_skew", "must be 1 (even) or more");
  std::array<int, 5> seen{};
  for (const Axis axis : e.order) ++seen[std::min<std::size_t>(static_cast<std::size_t>(axis), 4)];
  found.need(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }), "order",
             "must name tp, cp, ep, dp and pp once each, innermost first");
  const double product =
      static_cast<double>(e.tp) * static_cast<double>(e.cp) * static_cast<double>(e.pp) * static_cast<double>(e.dp);
  found.need(
      product <= static_cast<double>(limits::kGpusPerJob), "dp",
      [&] { return fmt::format("tp x cp x pp x dp is {} GPUs", product); },
      [] { return fmt::format("at most {} GPUs are counted with", limits::kGpusPerJob); });
}

void check_batch(Findings& found, const Execution& e) {
  const std::int64_t step = e.microbatch * e.dp;
  found.need(
      e.batch % step == 0, "batch",
      [&] {
        return fmt::format("{} sequences are no multiple of microbatch x dp = {} x {}", e.batch, e.microbatch, e.dp);
      },
      [&] {
        const std::int64_t low = e.batch / step * step;
        return low == 0 ? fmt::format("use {}", step) : fmt::format("use {} or {}", low, low + step);
      });
}

void check_tensor(Findings& found, const Execution& e, const Model& model) {
  divides(found, "tp", e.tp, model.heads, "heads");
  found.need(
      spread(model.kv_heads, e.tp), "tp",
      [&] { return fmt::format("{} key/value heads cannot be spread over tp = {}", model.kv_heads, e.tp); },
      [&] { return fmt::format("use a divisor or a multiple of {} that divides {}", model.kv_heads, model.heads); });
  if (model.moe_layers() < model.layers) divides(found, "tp", e.tp, model.ffn, "columns of the feed-forward");
  if (model.has_moe()) divides(found, "tp", e.tp, model.moe.ffn, "columns of an expert");
  if (model.has_moe() && model.moe.shared_ffn > 0)
    divides(found, "tp", e.tp, model.moe.shared_ffn, "columns of the shared experts");
  found.need(!e.sequence_parallel || e.tp > 1, "sequence_parallel", "splits nothing at tp = 1",
             "set tp > 1, or sequence_parallel = false");
}

void check_context(Findings& found, const Execution& e, const Model& model) {
  const std::int64_t s = e.tokens(model);
  found.need(s >= 1, "sequence", "neither the execution nor the model says how long a sequence is");
  if (e.cp > 1) {
    // Causal rings give each rank a part of the front and one of the back, so that all have the same work.
    const bool halves = e.context_parallel == ContextParallel::kRing && model.causal;
    found.need(
        s % (halves ? 2 * e.cp : e.cp) == 0, "cp",
        [&] { return fmt::format("{} tokens are no multiple of {}cp = {}", s, halves ? "2 x " : "", e.cp); },
        [&] { return fmt::format("make the sequence a multiple of {}", halves ? 2 * e.cp : e.cp); });
    if (e.context_parallel == ContextParallel::kUlysses) {
      found.need(
          model.heads % (e.tp * e.cp) == 0, "cp",
          [&] { return fmt::format("ulysses splits {} heads over tp x cp = {} x {}", model.heads, e.tp, e.cp); },
          [&] { return fmt::format("tp x cp must be {}; ring has no such bound", divisors(model.heads)); });
      found.need(
          spread(model.kv_heads, e.tp * e.cp), "cp",
          [&] {
            return fmt::format("ulysses cannot spread {} key/value heads over tp x cp = {} x {}", model.kv_heads, e.tp,
                               e.cp);
          },
          [] { return std::string("use context_parallel = \"ring\""); });
    }
  }
  found.need(
      !e.sequence_parallel || model.kind == ModelKind::kVision || s % (e.cp * e.tp) == 0, "sequence_parallel",
      [&] { return fmt::format("{} tokens cannot be split over cp x tp = {} x {}", s, e.cp, e.tp); },
      [&] { return fmt::format("make the sequence a multiple of {}", e.cp * e.tp); });
}

void check_experts(Findings& found, const Execution& e, const Model& model) {
  found.need(e.ep == 1 || model.has_moe(), "ep", "the model has no experts to spread", "use 1");
  if (!model.has_moe()) return;
  divides(found, "ep", e.ep, model.moe.experts, "experts");
  found.need((e.dp * e.cp) % e.ep == 0, "ep",
             [&] { return fmt::format("dp x cp = {} x {} ranks cannot form groups of ep = {}", e.dp, e.cp, e.ep); },
             [&] { return fmt::format("use {}", divisors(std::gcd(e.dp * e.cp, model.moe.experts))); });
}

void check_chunks(Findings& found, const Execution& e, const Model& model) {
  const std::int64_t chunks = e.pp * e.virtual_stages;
  const std::int64_t layers = all_layers(model);
  if (e.stage_layers.empty()) {
    found.need(
        chunks <= layers, e.virtual_stages > 1 ? "virtual_stages" : "pp",
        [&] { return fmt::format("pp x virtual_stages = {} chunks for {} layers", chunks, layers); },
        [&] { return fmt::format("pp x virtual_stages can be at most {}", layers); });
    return;
  }
  found.need(
      static_cast<std::int64_t>(e.stage_layers.size()) == chunks, "stage_layers",
      [&] { return fmt::format("{} entries for pp x virtual_stages = {} chunks", e.stage_layers.size(), chunks); },
      [] { return std::string("give one a chunk, in the order in which a token passes them"); });
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < e.stage_layers.size(); ++i) {
    const std::int64_t n = e.stage_layers[i];
    const bool end = i == 0 || i + 1 == e.stage_layers.size();
    found.need(n >= (end ? 0 : 1) && n <= kMaxDegree, "stage_layers",
               "every chunk needs a layer, but for the first and the last (embedding and head alone)");
    if (!found.ok()) return;
    sum += n;
  }
  found.need(
      sum == layers, "stage_layers", [&] { return fmt::format("sum up to {}, the model has {} layers", sum, layers); },
      [] { return std::string(); });
}

void check_schedule(Findings& found, const Execution& e) {
  const bool interleaved = e.schedule == Schedule::kInterleaved;
  found.need(
      interleaved || e.virtual_stages == 1, "virtual_stages",
      [&] { return fmt::format("schedule {} keeps one chunk a rank", schedule_name(e.schedule)); },
      [] { return std::string("use 1, or schedule = \"interleaved\""); });
  const std::int64_t m = e.microbatches();
  if (interleaved) {
    found.need(e.pp > 1, "schedule", "interleaving needs more than one stage", "set pp > 1, or schedule = \"1f1b\"");
    found.need(
        m % e.pp == 0, "batch",
        [&] { return fmt::format("interleaving runs micro-batches in rounds of pp = {}, there are {}", e.pp, m); },
        [&] { return fmt::format("make batch a multiple of microbatch x dp x pp = {}", e.microbatch * e.dp * e.pp); });
  }
  if (e.schedule == Schedule::kDualPipe) {
    found.need(e.pp % 2 == 0, "pp", "dualpipe feeds the pipeline from both ends: an even number of stages",
               "use an even pp");
    found.need(
        m % 2 == 0 && m >= 2 * e.pp, "batch",
        [&] { return fmt::format("dualpipe needs an even number of at least 2 pp micro-batches, there are {}", m); },
        [&] { return fmt::format("batch = microbatch x dp x {} is the least", 2 * e.pp); });
  }
}

void check_machine(Findings& found, const Execution& e, const System& system) {
  const std::int64_t gpus = e.gpus();
  const std::int64_t node = system.joined_gpus();
  found.need(
      system.gpus == 0 || gpus <= system.gpus, "dp",
      [&] { return fmt::format("tp x cp x pp x dp = {} GPUs, {} has {}", gpus, printable(system.name), system.gpus); },
      [&] {
        const std::int64_t rest = e.tp * e.cp * e.pp;
        return rest <= system.gpus ? fmt::format("dp can be at most {}", system.gpus / rest)
                                   : std::string("one replica alone is larger than the machine");
      });
  found.need(gpus == 1 || !system.networks.empty(), "dp", "no network of the system joins its GPUs", "use one GPU");
  const std::int64_t joined = system.networks.empty() ? 0 : system.networks.back().domain;
  found.need(
      joined == 0 || gpus <= joined, "dp",
      [&] { return fmt::format("tp x cp x pp x dp = {} GPUs, the networks join {}", gpus, joined); },
      [] { return std::string("a tier with domain = 0 joins any number"); });
  // A group that lies unevenly over nodes has no ring of one speed.
  found.need(
      spread(node, e.tp), "tp",
      [&] { return fmt::format("{} neither divides nor fills nodes of {} GPUs", e.tp, node); },
      [&] { return fmt::format("use a divisor or a multiple of {}", node); });
  found.need(
      system.tflops[static_cast<std::size_t>(e.datatype)] > 0, "datatype",
      [&] { return fmt::format("{} has no {}", printable(system.gpu), datatype_name(e.datatype)); },
      [&] {
        std::vector<std::string_view> there;
        for (std::size_t i = 0; i < system.tflops.size(); ++i)
          if (system.tflops[i] > 0) there.push_back(datatype_name(static_cast<Datatype>(i)));
        return fmt::format("use {}", fmt::join(there, ", "));
      });
  const bool host = system.host_memory_gib > 0 && system.host_gb_s > 0;
  found.need(host || e.activation_offload == 0, "activation_offload", "the system says nothing of host memory",
             "give it host_memory_gib and host_gb_s");
  found.need(host || !e.optimizer_offload, "optimizer_offload", "the system says nothing of host memory",
             "give it host_memory_gib and host_gb_s");
}

}  // namespace

// As even as can be. What is left over goes to the chunks in the middle, for the first holds the embedding and the last
// the head; where the middle cannot be met exactly, towards the front, for the head costs more.
std::int64_t layers_of_chunk(const Execution& execution, const Model& model, std::int64_t chunk) {
  if (!execution.stage_layers.empty()) return execution.stage_layers[static_cast<std::size_t>(chunk)];
  const std::int64_t chunks = execution.pp * execution.virtual_stages;
  const std::int64_t base = all_layers(model) / chunks;
  const std::int64_t rest = all_layers(model) % chunks;
  const std::int64_t first = (chunks - rest) / 2;
  return base + (chunk >= first && chunk < first + rest ? 1 : 0);
}

Status check_execution(const Execution& execution, const Model& model, const System& system, const std::string& file) {
  Findings found(file);
  check_ranges(found, execution);
  if (!found.ok()) return found.status();
  check_batch(found, execution);
  if (!found.ok()) return found.status();
  check_tensor(found, execution, model);
  check_context(found, execution, model);
  check_experts(found, execution, model);
  check_chunks(found, execution, model);
  check_schedule(found, execution);
  check_machine(found, execution, system);
  return found.status();
}

}  // namespace comity::workload
