// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_step.h"

#include <cmath>

#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "plan/parallelism.h"
#include "workload/estimate.h"

namespace comity::cli {
namespace {

constexpr int kEstimates = 20'000;

Status one_estimate(const char* model_name, const workload::Execution& execution, std::vector<Measured>& out) {
  auto model = workload::load_model(model_name);
  if (!model) return fail(model.error());
  auto system = workload::load_system("dgx-h100");
  if (!system) return fail(system.error());
  workload::Execution e = execution;
  double sum = 0;
  const std::int64_t begin = steady_ns();
  for (int i = 0; i < kEstimates; ++i) {
    e.batch = execution.batch * (1 + i % 7);  // no two calls in a row are the same
    sum += workload::estimate(*model, e, *system, workload::CostModel::kNccl).iteration_s;
  }
  const double each = static_cast<double>(steady_ns() - begin) * 1e-3 / kEstimates;
  if (!std::isfinite(sum) || sum <= 0) return fail(Code::kFailed, "an estimate is no time");
  out.push_back({fmt::format("estimate of {}", model_name), each, "us", "no layer costs shared between calls"});
  return {};
}

Status whole_search(std::int64_t gpus, std::vector<Measured>& out) {
  plan::ParallelismQuestion q;
  q.model = *workload::load_model("megatron-1t");
  q.system = *workload::load_system("dgx-a100");
  q.gpus = q.base.batch = gpus;
  const std::int64_t begin = steady_ns();
  auto got = plan::plan_parallelism(q);
  if (!got) return fail(got.error());
  out.push_back({fmt::format("1T on {} GPUs, whole space", format_count(static_cast<std::uint64_t>(gpus))),
                 static_cast<double>(steady_ns() - begin) * 1e-9, "s",
                 fmt::format("{} ways; best {:.4g} s", format_count(got->legal), got->best.front().iteration_s)});
  return {};
}

}  // namespace

Status bench_step(std::vector<Measured>& out) {
  workload::Execution dense;
  dense.tp = 8;
  dense.pp = 16;
  dense.dp = 8;
  dense.batch = 256;
  dense.sequence_parallel = true;
  if (auto status = one_estimate("llama3-405b", dense, out); !status) return status;
  workload::Execution moe;
  moe.pp = 16;
  moe.dp = 128;
  moe.ep = 64;
  moe.batch = 15360;
  if (auto status = one_estimate("deepseek-v3", moe, out); !status) return status;
  if (auto status = whole_search(4096, out); !status) return status;
  return whole_search(100'000, out);
}

}  // namespace comity::cli
