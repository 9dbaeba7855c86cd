// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "plan/long_context.h"

namespace comity::plan {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

// A model of the paper's evaluation: GPT shapes with four times the hidden width in the feed-forward.
workload::Model gpt(const char* name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  workload::Model m;
  m.name = name;
  m.layers = layers;
  m.hidden = hidden;
  m.heads = heads;
  m.kv_heads = heads;
  m.head_width = hidden / heads;
  m.ffn = 4 * hidden;
  m.vocab = 51200;
  m.sequence = 4096;
  return m;
}

LongContextQuestion setup(const workload::System& system, const workload::Model& model, std::int64_t gpus,
                          std::int64_t thousands, std::int64_t sp, std::int64_t pp, std::int64_t pieces) {
  LongContextQuestion q;
  q.model = model;
  q.system = system;
  q.gpus = gpus;
  q.tokens = thousands * 1024;
  q.sp = sp;
  q.pp = pp;
  q.pieces = pieces;
  q.max_sp = sp;
  return q;
}

// Step time of `name` over that of the choice; 0: one of them does not fit.
double gain(const LongContextPlan& plan, std::string_view name) {
  for (const LongContextRival& r : plan.rivals)
    if (r.name == name) return r.fits ? r.step_s / plan.best.step_s : 0;
  return 0;
}

}  // namespace

Fields fields(const LongContextPlan& plan) {
  const LongContextChoice& b = plan.best;
  return {number("sp", "", real(b.sp)),
          number("pp", "", real(b.pp)),
          number("dp", "", real(b.dp)),
          number("pieces", "", real(b.pieces)),
          words("offload", offload_name(b.offload)),
          words("multiplexed", b.multiplex ? "yes" : "no"),
          number("step_s", "s", b.step_s),
          number("forward_s", "s", b.forward_s),
          number("backward_s", "s", b.backward_s),
          number("stall_s", "s", b.stall_s),
          number("bubble", "", b.bubble),
          number("tokens_per_s", "1/s", b.tokens_per_s),
          number("mfu", "", b.mfu),
          number("peak_bytes", "B", b.peak_bytes),
          number("capacity_bytes", "B", plan.capacity_bytes),
          number("host_bytes", "B", b.host_bytes),
          number("evaluated", "", real(plan.evaluated))};
}

FieldRows piece_rows(const LongContextPlan& plan) {
  FieldRows out;
  std::int64_t k = 0;
  for (const SequencePiece& p : plan.pieces)
    out.push_back({number("piece", "", real(k++)), number("tokens", "", real(p.tokens)),
                   number("forward_s", "s", p.forward_s), number("backward_s", "s", p.backward_s),
                   number("offloadable_bytes", "B", p.offloadable_bytes), number("kept_bytes", "B", p.kept_bytes),
                   number("ratio", "", p.ratio)});
  return out;
}

FieldRows timeline_rows(const LongContextPlan& plan) {
  FieldRows out;
  for (const StageMoment& m : plan.timeline)
    out.push_back({number("stage", "", real(m.stage)), number("piece", "", real(m.piece)),
                   words("pass", m.backward ? "backward" : "forward"), number("start_s", "s", m.start_s),
                   number("end_s", "s", m.end_s), number("bytes", "B", m.bytes)});
  return out;
}

FieldRows rival_rows(const LongContextPlan& plan) {
  FieldRows out;
  for (const LongContextRival& r : plan.rivals)
    out.push_back({words("name", r.name), words("how", r.how), words("fits", r.fits ? "yes" : "no"),
                   number("step_s", "s", r.step_s), number("peak_bytes", "B", r.peak_bytes),
                   number("gain", "", plan.best.step_s > 0 ? r.step_s / plan.best.step_s : 0)});
  return out;
}

std::string explain(const LongContextPlan& plan) {
  const LongContextChoice& b = plan.best;
  std::string out = fmt::format(
      "{} GPUs share each of {} stages, {} replicas; the sequence goes through them in {} pieces. A step takes {:.2f} "
      "s, "
      "{:.1f} % of useful time is lost in the pipeline and {:.2f} s to the host link.\n",
      b.sp, b.pp, b.dp, b.pieces, b.step_s, 100 * b.bubble, b.stall_s);
  out += fmt::format("The fullest GPU holds {:.1f} of {:.1f} GB, its host {:.1f} GB a GPU.", b.peak_bytes / 1e9,
                     plan.capacity_bytes / 1e9, b.host_bytes / 1e9);
  if (!plan.pieces.empty())
    out += fmt::format(" Pieces have {} to {} tokens; {:.0f} to {:.0f} % of what they leave goes to the host.",
                       plan.pieces.front().tokens, plan.pieces.back().tokens,
                       100 * std::min_element(plan.pieces.begin(), plan.pieces.end(),
                                              [](auto& x, auto& y) { return x.ratio < y.ratio; })
                                 ->ratio,
                       100 * std::max_element(plan.pieces.begin(), plan.pieces.end(), [](auto& x, auto& y) {
                               return x.ratio < y.ratio;
                             })->ratio);
  for (const LongContextRival& r : plan.rivals) {
    if (r.how.empty()) continue;
    out += r.fits
               ? fmt::format("\n{} ({}): {:.2f} s, {:.2f} times as long.", r.name, r.how, r.step_s, r.step_s / b.step_s)
               : fmt::format("\n{} ({}): does not fit, {:.1f} GB.", r.name, r.how, r.peak_bytes / 1e9);
  }
  return out;
}

std::vector<LongContextClaim> long_context_claims(const workload::System& system) {
  const workload::Model m7 = gpt("GPT-7B", 32, 4096, 32);
  const workload::Model m13 = gpt("GPT-13B", 40, 5120, 40);
  const workload::Model m65 = gpt("GPT-65B", 80, 8192, 64);
  std::vector<LongContextClaim> out;
  const auto over = [&](std::string what, LongContextQuestion q, std::int64_t batch, const char* rival, double paper) {
    q.batch = batch;
    const auto plan = plan_long_context(q);
    out.push_back({fmt::format("{}, {} sequences a step, over Megatron-LM's same split", what, batch), paper,
                   plan.has_value() ? gain(*plan, rival) : 0, "times"});
  };
  const char* same = "Megatron-LM, same split";
  for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{32}}) {
    over("7B, 512K, 32 GPUs", setup(system, m7, 32, 512, 8, 4, 32), batch, same, 1.13);
    over("7B, 896K, 32 GPUs", setup(system, m7, 32, 896, 8, 4, 128), batch, same, 1.29);
    over("65B, 600K, 128 GPUs", setup(system, m65, 128, 600, 16, 8, 64), batch, same, 3.38);
    over("65B, 640K, 128 GPUs", setup(system, m65, 128, 640, 16, 8, 80), batch, same, 3.12);
  }
  for (const auto& [gpus, paper, rival] :
       {std::tuple{std::int64_t{32}, 1.3, 1.0}, {std::int64_t{64}, 2.0, 1.375}, {std::int64_t{128}, 4.0, 2.13}}) {
    LongContextQuestion q = setup(system, m7, gpus, 1, 0, 0, 0);
    const auto longest = [&](const char* name, LongContextWay way, double claimed) {
      out.push_back({fmt::format("7B, longest sequence on {} GPUs, {}", gpus, name), claimed,
                     real(longest_context(q, way)) / 1048576, "Mi tokens"});
    };
    longest("SPPO", LongContextWay::kSppo, paper);
    longest("Megatron-LM without context parallelism", LongContextWay::kMegatronWithoutContextParallel, rival);
    longest("Megatron-LM with it", LongContextWay::kMegatron, rival);
  }
  const auto saved = plan_long_context(setup(system, m13, 64, 512, 8, 8, 32));
  const double plain = saved.has_value() ? gain(*saved, "sequence pipeline, adaptive offload") : 0;
  out.push_back({"13B, 512K, 64 GPUs, multiplexed partition over adaptive offload alone", 1.44 / 1.23, plain, "times"});
  return out;
}

}  // namespace comity::plan
