// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "plan/hetero.h"

namespace comity::plan {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

HeteroQuestion holmes(const std::vector<HeteroCluster>& clusters) {
  HeteroQuestion q;
  q.model = *workload::load_model("megatron-3.6b");
  q.clusters = clusters;
  q.base.batch = 768;
  q.base.zero = 1;
  q.base.dropout = true;
  q.base.dp_overlap = false;
  q.cross_gb_s = 1.25;
  q.alone = false;
  return q;
}

// About 140 billion parameters in LLaMA's shape.
workload::Model llama_140b() {
  workload::Model m = *workload::load_model("llama2-70b");
  m.name = "llama-140b";
  m.layers = 108;
  m.hidden = 10240;
  m.heads = m.kv_heads = 80;
  m.head_width = 128;
  m.ffn = 28672;
  return m;
}

}  // namespace

workload::System with_nic(workload::System system, const std::string& nic) {
  workload::Network& between = system.networks.back();
  between.name = nic;
  if (nic == "roce") between.efficiency *= 0.5;
  if (nic == "ethernet") {
    between.gb_s = 3.125;  // 25 Gb/s a GPU, TCP
    between.efficiency = 0.6;
    between.latency_us = 50;
  }
  return system;
}

Fields fields(const HeteroPlan& plan) {
  return {words("layout", plan.replicas_across ? "replicas" : "pipeline"),
          number("stages", "", real(static_cast<std::int64_t>(plan.stages.size()))),
          number("microbatch", "", real(plan.microbatch)),
          words("recompute", std::string(workload::recompute_name(plan.recompute))),
          number("step_s", "s", plan.step_s),
          number("pipeline_s", "s", plan.pipeline_s),
          number("sync_s", "s", plan.sync_s),
          number("optimizer_s", "s", plan.optimizer_s),
          number("tflops", "TFLOP/s", plan.tflops),
          number("tflops_per_gpu", "TFLOP/s", plan.tflops_per_gpu),
          number("layer_bound", "TFLOP/s", plan.layer_bound),
          number("alone_bound", "TFLOP/s", plan.alone_bound),
          number("peak_bound", "TFLOP/s", plan.peak_bound),
          number("share_of_layers", "", plan.share_of_layers()),
          number("share_of_alone", "", plan.share_of_alone()),
          number("share_of_peak", "", plan.share_of_peak()),
          number("even_step_s", "s", plan.even_step_s),
          number("evaluated", "", static_cast<double>(plan.evaluated))};
}

FieldRows stage_rows(const HeteroQuestion& question, const HeteroPlan& plan) {
  FieldRows out;
  std::int64_t i = 0;
  for (const HeteroStage& s : plan.stages)
    out.push_back({number("stage", "", real(i++)), words("cluster", question.clusters[s.cluster].name),
                   words("nic", question.clusters[s.cluster].nic), number("tp", "", real(s.tp)),
                   number("dp", "", real(s.dp)), number("layers", "", real(s.layers)),
                   number("microbatches", "", real(s.microbatches)), number("seconds", "s", s.seconds),
                   number("bytes", "B", s.bytes), number("capacity_bytes", "B", s.capacity_bytes)});
  return out;
}

std::string explain(const HeteroQuestion& question, const HeteroPlan& plan) {
  std::string out = fmt::format(
      "{}: a step takes {:.2f} s, {:.1f} TFLOP/s a GPU, {:.1f} % of what all GPUs could do with layers alone",
      plan.replicas_across ? "Each cluster has pipelines of its own" : "One pipeline runs through all clusters",
      plan.step_s, plan.tflops_per_gpu, 100 * plan.share_of_layers());
  if (plan.alone_bound > 0)
    out += fmt::format(" and {:.1f} % of what the clusters reach one by one", 100 * plan.share_of_alone());
  out += ".";
  for (std::size_t c = 0; c < question.clusters.size(); ++c) {
    std::int64_t stages = 0;
    std::int64_t layers = 0;
    const HeteroStage* any = nullptr;
    for (const HeteroStage& s : plan.stages) {
      if (s.cluster != c) continue;
      any = &s;
      ++stages;
      layers += s.layers;
    }
    if (any == nullptr) continue;
    out += fmt::format("\n{}: {} stages of tp {} x dp {}, {} layers, {} micro-batches of {}.",
                       question.clusters[c].name, stages, any->tp, any->dp, layers, any->microbatches, plan.microbatch);
  }
  if (plan.even_step_s > 0)
    out += fmt::format("\nWith as many layers in every stage the best takes {:.2f} s, {:.2f} times as long.",
                       plan.even_step_s, plan.even_step_s / plan.step_s);
  return out;
}

std::vector<HeteroClaim> hetero_claims(const workload::System& a100, const workload::System& amd) {
  std::vector<HeteroClaim> out;
  const auto add = [&](std::string what, const HeteroQuestion& q, double paper) {
    const auto plan = plan_hetero(q);
    out.push_back({std::move(what), paper, plan.has_value() ? plan->tflops_per_gpu : 0, "TFLOP/s a GPU"});
  };
  for (const auto& [nic, four, eight] :
       {std::tuple{"infiniband", 197.0, 148.0}, {"roce", 160.0, 145.0}, {"ethernet", 122.0, 83.0}}) {
    const workload::System system = with_nic(a100, nic);
    add(fmt::format("GPT-3.6B, 4 nodes, {}", nic), holmes({{nic, system, 32, nic}}), four);
    add(fmt::format("GPT-3.6B, 8 nodes, {}", nic), holmes({{nic, system, 64, nic}}), eight);
  }
  add("GPT-3.6B, 2 nodes infiniband and 2 roce (the paper: close to roce)",
      holmes({{"a", with_nic(a100, "infiniband"), 16, "infiniband"}, {"b", with_nic(a100, "roce"), 16, "roce"}}), 160);
  HeteroQuestion hub;
  hub.model = llama_140b();
  hub.clusters = {{"A", a100, 640, "infiniband"}, {"AMD", amd, 128, "roce"}};
  hub.base.batch = 1536;
  hub.base.sequence = 4096;
  hub.base.zero = 1;
  hub.base.dropout = false;
  const auto plan = plan_hetero(hub);
  const bool fits = plan.has_value();
  out.push_back({"Llama-140B, 640 A + 128 AMD, share of what both do one by one", 97.49,
                 fits ? 100 * plan->share_of_alone() : 0, "%"});
  out.push_back(
      {"the same, share of what GPUs do with layers alone", 97.49, fits ? 100 * plan->share_of_layers() : 0, "%"});
  return out;
}

}  // namespace comity::plan
