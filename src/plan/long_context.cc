// SPDX-License-Identifier: Apache-2.0
#include "plan/long_context.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plan/space.h"

namespace comity::plan {
namespace {

using workload::Estimate;
using workload::Execution;
using workload::Recompute;

constexpr std::int64_t kMostGpus = 1 << 20;
constexpr std::int64_t kMostTokens = 1 << 30;
constexpr std::int64_t kMostPieces = 4096;

Status check(const LongContextQuestion& q) {
  const auto wrong = [](std::string field, std::string message, std::string hint) {
    return fail({.code = Code::kUsage,
                 .message = std::move(message),
                 .file = {},
                 .line = 0,
                 .field = std::move(field),
                 .hint = std::move(hint),
                 .cause = {}});
  };
  if (q.gpus < 1 || q.gpus > kMostGpus) return wrong("gpus", fmt::format("must be between 1 and {}", kMostGpus), "");
  if (q.tokens < 1 || q.tokens > kMostTokens)
    return wrong("tokens", fmt::format("must be between 1 and {}", kMostTokens), "give the length of one sequence");
  if (q.batch < 1) return wrong("batch", "must be at least one sequence", "");
  if (q.least_piece < 1 || q.most_piece < q.least_piece)
    return wrong("least_piece", "must be at least 1 and at most most_piece", "");
  if (q.multiplex_fill < 0 || q.multiplex_fill > 1) return wrong("multiplex_fill", "must be between 0 and 1", "");
  if (q.pieces < 0 || q.pieces > kMostPieces)
    return wrong("pieces", fmt::format("must be between 0 (searched) and {}", kMostPieces), "");
  if (q.model.layers < 1 || q.model.heads < 1) return wrong("model", "has no layers or heads", "");
  return {};
}

// N in steps of a quarter, as many as give a GPU least_piece .. most_piece tokens; not fewer than stages.
std::vector<std::int64_t> piece_counts(const LongContextQuestion& q, std::int64_t sp, std::int64_t pp) {
  if (q.pieces > 0) return {q.pieces};
  const std::int64_t high = std::min(kMostPieces, q.tokens / (sp * q.least_piece));
  const std::int64_t low = std::max(pp, (q.tokens + sp * q.most_piece - 1) / (sp * q.most_piece));
  if (high <= low) return {std::min(low, std::min(q.tokens, kMostPieces))};
  std::vector<std::int64_t> out;
  for (std::int64_t n = low; n < high; n = std::max(n + 1, n * 5 / 4)) out.push_back(n);
  out.push_back(high);
  return out;
}

bool better(const LongContextChoice& a, const LongContextChoice& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits) return a.peak_bytes < b.peak_bytes;
  if (a.step_s != b.step_s) return a.step_s < b.step_s;
  return a.peak_bytes < b.peak_bytes;
}

// The best choice of all; with fits = false the one that comes nearest. sp = 0: no degree is legal.
LongContextChoice search(const LongContextQuestion& q, std::int64_t& evaluated) {
  LongContextChoice best;
  best.sp = 0;
  const std::int64_t most_sp = q.max_sp > 0 ? q.max_sp : q.system.joined_gpus();
  for (const std::int64_t sp : divisors(q.gpus)) {
    if (q.sp > 0 ? sp != q.sp : sp > most_sp) continue;
    if (q.model.heads % sp != 0) continue;
    for (const std::int64_t pp : divisors(q.gpus / sp)) {
      const std::int64_t dp = q.gpus / sp / pp;
      if ((q.pp > 0 && pp != q.pp) || pp > q.model.layers || q.batch % dp != 0) continue;
      for (const std::int64_t n : piece_counts(q, sp, pp)) {
        if (n > q.tokens) continue;
        for (const Offload offload : {Offload::kAdaptive, Offload::kFull}) {
          LongContextChoice c;
          c.sp = sp;
          c.pp = pp;
          c.dp = dp;
          c.pieces = n;
          c.offload = offload;
          c.multiplex = q.multiplex && pp > 1 && n >= pp;
          const LongContextChoice done = evaluate_long_context(q, c, nullptr);
          ++evaluated;
          if (best.sp == 0 || better(done, best)) best = done;
        }
      }
    }
  }
  return best;
}

Execution rival_execution(const LongContextQuestion& q) {
  Execution e;
  e.batch = q.batch;
  e.sequence = q.tokens;
  e.datatype = q.datatype;
  e.dropout = false;
  e.zero = 1;
  return e;
}

LongContextRival rival(std::string name, const LongContextQuestion& q, const Execution& e, const Estimate& estimate) {
  LongContextRival out;
  out.name = std::move(name);
  out.how = fmt::format("tp {} cp {} pp {} dp {}, {} recomputation", e.tp, e.cp, e.pp, e.dp,
                        workload::recompute_name(e.recompute));
  out.step_s = estimate.iteration_s;
  out.peak_bytes = estimate.memory.total();
  out.fits = estimate.fits;
  if (!workload::check_execution(e, q.model, q.system, "").has_value()) out.fits = false;
  return out;
}

bool better(const LongContextRival& a, const LongContextRival& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step_s < b.step_s : a.peak_bytes < b.peak_bytes;
}

void keep_best(LongContextRival& best, const LongContextQuestion& q, const Execution& e) {
  if (!workload::check_execution(e, q.model, q.system, "").has_value()) return;
  const LongContextRival now = rival(best.name, q, e, workload::estimate(q.model, e, q.system, q.cost));
  if (best.how.empty() || better(now, best)) best = now;
}

// The chosen split with parts of SPPO taken away.
void add_ablation(const LongContextQuestion& q, LongContextPlan& plan) {
  struct Part {
    const char* name;
    Offload offload;
    bool multiplex;
  };
  for (const Part& part : {Part{"sequence pipeline, no offload", Offload::kNone, false},
                           Part{"sequence pipeline, full offload", Offload::kFull, false},
                           Part{"sequence pipeline, adaptive offload", Offload::kAdaptive, false},
                           Part{"and multiplexed partition", Offload::kAdaptive, true}}) {
    LongContextChoice c = plan.best;
    c.offload = part.offload;
    c.multiplex = part.multiplex && c.pp > 1;
    const LongContextChoice done = evaluate_long_context(q, c, nullptr);
    plan.rivals.push_back({part.name, fmt::format("sp {} pp {} dp {} N {}", c.sp, c.pp, c.dp, c.pieces), done.step_s,
                           done.peak_bytes, done.fits});
  }
}

}  // namespace

std::string offload_name(Offload offload) {
  switch (offload) {
    case Offload::kNone: return "none";
    case Offload::kAdaptive: return "adaptive";
    case Offload::kFull: return "full";
  }
  return "none";
}

LongContextRival best_megatron(const LongContextQuestion& q, bool context_parallel) {
  LongContextRival best;
  best.name = context_parallel ? "Megatron-LM, best of its degrees" : "Megatron-LM, without context parallelism";
  for (const std::int64_t tp : divisors(q.gpus)) {
    if (tp > q.system.joined_gpus() || q.model.heads % tp != 0) continue;
    for (const std::int64_t cp : divisors(q.gpus / tp)) {
      if (cp > 1 && !context_parallel) break;
      for (const std::int64_t pp : divisors(q.gpus / tp / cp)) {
        Execution e = rival_execution(q);
        e.tp = tp;
        e.cp = cp;
        e.pp = pp;
        e.dp = q.gpus / tp / cp / pp;
        e.sequence_parallel = tp > 1;
        for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
          e.recompute = recompute;
          keep_best(best, q, e);
        }
      }
    }
  }
  return best;
}

LongContextRival same_split_megatron(const LongContextQuestion& q, std::int64_t sp, std::int64_t pp) {
  Execution e = rival_execution(q);
  e.tp = sp;
  e.pp = pp;
  e.dp = std::max<std::int64_t>(1, q.gpus / sp / pp);
  e.sequence_parallel = sp > 1;
  e.recompute = Recompute::kFull;
  return rival("Megatron-LM, same split", q, e, workload::estimate(q.model, e, q.system, q.cost));
}

LongContextRival best_ulysses(const LongContextQuestion& q) {
  LongContextRival best;
  best.name = "DeepSpeed Ulysses";
  for (const std::int64_t cp : divisors(q.gpus)) {
    if (q.model.heads % cp != 0) continue;
    Execution e = rival_execution(q);
    e.cp = cp;
    e.dp = q.gpus / cp;
    e.context_parallel = workload::ContextParallel::kUlysses;
    e.zero = 3;
    for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
      e.recompute = recompute;
      keep_best(best, q, e);
    }
  }
  return best;
}

std::int64_t longest_context(const LongContextQuestion& question, LongContextWay way, std::int64_t grain) {
  LongContextQuestion q = question;
  const auto fits = [&](std::int64_t grains) {
    q.tokens = grains * grain;
    if (way != LongContextWay::kSppo) return best_megatron(q, way == LongContextWay::kMegatron).fits;
    std::int64_t evaluated = 0;
    return search(q, evaluated).fits;
  };
  const std::int64_t most = kMostTokens / grain;
  if (!fits(1)) return 0;
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (high < most && fits(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, most);
  while (high - low > std::max<std::int64_t>(1, low / 64)) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low * grain;
}

Result<LongContextPlan> plan_long_context(const LongContextQuestion& question) {
  if (const Status status = check(question); !status.has_value()) return fail(status.error());
  LongContextPlan plan;
  plan.best = search(question, plan.evaluated);
  if (plan.best.sp == 0)
    return fail(Code::kInput,
                fmt::format("no SP x PP x DP makes {} GPUs with {} heads, {} layers and {} sequences", question.gpus,
                            question.model.heads, question.model.layers, question.batch),
                "use a number of GPUs that has divisors in common with the heads, or free sp and pp");
  if (!plan.best.fits) {
    const std::int64_t longest = longest_context(question, LongContextWay::kSppo);
    return fail(Code::kInput,
                fmt::format("{} tokens do not fit: at best {:.1f} GB of {:.1f} GB", question.tokens,
                            plan.best.peak_bytes / 1e9, question.system.memory_gib * 1.073741824),
                longest > 0 ? fmt::format("about {} tokens are the most that fit; or use more GPUs", longest)
                            : "the model alone is too large: use more GPUs");
  }
  plan.best = evaluate_long_context(question, plan.best, &plan);
  add_ablation(question, plan);
  plan.rivals.push_back(same_split_megatron(question, plan.best.sp, plan.best.pp));
  plan.rivals.push_back(best_megatron(question, false));
  plan.rivals.push_back(best_megatron(question, true));
  plan.rivals.push_back(best_ulysses(question));
  return plan;
}

}  // namespace comity::plan
