// SPDX-License-Identifier: Apache-2.0
#include "plan/parallelism.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "plan/space.h"

namespace comity::plan {
namespace {

using workload::CostModel;
using workload::Execution;

ParallelismQuestion question(const std::string& model, const std::string& system, std::int64_t gpus,
                             std::int64_t batch) {
  ParallelismQuestion q;
  q.model = *workload::load_model(model);
  q.system = *workload::load_system(system);
  q.gpus = gpus;
  q.base.batch = batch;
  return q;
}

struct Case {
  const char* model;
  const char* system;
  std::int64_t gpus;
  std::int64_t batch;
};
// Dense and MoE models from one node to sixteen, three kinds of machine.
std::vector<Case> grid() {
  std::vector<Case> out;
  for (const char* system : {"dgx-a100", "dgx-h100", "h800"}) {
    for (const auto& [model, least] : std::initializer_list<std::pair<const char*, std::int64_t>>{{"llama2-7b", 8},
                                                                                                  {"gpt3-13b", 8},
                                                                                                  {"llama3-8b", 16},
                                                                                                  {"llama2-70b", 32},
                                                                                                  {"mixtral-8x7b", 16},
                                                                                                  {"gpt3-175b", 128}}) {
      out.push_back({model, system, least, 8 * least});
      out.push_back({model, system, 2 * least, 4 * least});
    }
  }
  return out;
}

TEST(Parallelism, PrunedAndWholeSearchAgreeAndNoRuleIsBetter) {
  double most = 1;
  for (const Case& c : grid()) {
    ParallelismQuestion q = question(c.model, c.system, c.gpus, c.batch);
    q.megatron_only = c.gpus > 16;  // the whole space of the small cases, what Megatron-LM runs of the others
    const auto fast = plan_parallelism(q);
    ASSERT_TRUE(fast.has_value()) << c.model << " " << c.system << ": " << fast.error().text();
    q.exact_pruning = false;
    const auto whole = plan_parallelism(q);
    ASSERT_TRUE(whole.has_value());
    EXPECT_EQ(whole->pruned, 0U);
    EXPECT_EQ(fast->legal, whole->legal);
    ASSERT_EQ(fast->best.size(), whole->best.size());
    for (std::size_t i = 0; i < fast->best.size(); ++i)
      EXPECT_EQ(fast->best[i].iteration_s, whole->best[i].iteration_s) << c.model << " " << c.system << " " << i;
    EXPECT_LT(fast->evaluated, whole->evaluated);
    const auto rule = megatron_rule(q);
    ASSERT_TRUE(rule.has_value()) << c.model << " " << c.system << " " << c.gpus;
    const double gain = rule->iteration_s / fast->best.front().iteration_s;
    EXPECT_GE(gain, 1) << c.model << " " << c.system << " " << c.gpus;
    most = std::max(most, gain);
  }
  EXPECT_GT(most, 1.1);  // the paper: up to 1.36
  EXPECT_LT(most, 2.5);
  RecordProperty("largest_gain_over_megatron_rule", std::to_string(most));
}

TEST(Parallelism, EveryWayReturnedIsLegalAndFits) {
  const ParallelismQuestion q = question("mixtral-8x7b", "dgx-h100", 64, 256);
  const auto plan = plan_parallelism(q);
  ASSERT_TRUE(plan.has_value());
  for (const std::vector<Candidate>* list : {&plan->best, &plan->pareto}) {
    for (const Candidate& c : *list) {
      const auto status = workload::check_execution(c.execution, q.model, q.system, "");
      EXPECT_TRUE(status.has_value()) << status.error().text();
      EXPECT_EQ(c.execution.gpus(), q.gpus);
      EXPECT_LE(c.memory_bytes, q.system.memory_gib * 1073741824.0);
      EXPECT_EQ(workload::estimate(q.model, c.execution, q.system, q.cost).iteration_s, c.iteration_s);
    }
  }
  for (std::size_t i = 1; i < plan->pareto.size(); ++i) {
    EXPECT_GT(plan->pareto[i].iteration_s, plan->pareto[i - 1].iteration_s);
    EXPECT_LT(plan->pareto[i].memory_bytes, plan->pareto[i - 1].memory_bytes);
  }
}

// GPT models of about the sizes, on the numbers of GPUs, of Alpa's own evaluation.
TEST(Parallelism, AlpasSearchChoosesTheSameWithManyMoreEvaluations) {
  for (const auto& [model, gpus, batch] :
       std::initializer_list<std::tuple<const char*, std::int64_t, std::int64_t>>{{"megatron-1.7b", 4, 64},
                                                                                  {"megatron-3.6b", 8, 64},
                                                                                  {"megatron-7.5b", 16, 128},
                                                                                  {"megatron-18.4b", 32, 128},
                                                                                  {"megatron-39.1b", 64, 256}}) {
    ParallelismQuestion q = question(model, "dgx-a100", gpus, batch);
    q.plain = true;
    const auto ours = plan_parallelism(q);
    const auto alpa = alpa_search(q);
    ASSERT_TRUE(ours.has_value() && alpa.has_value()) << model;
    const Execution& e = ours->best.front().execution;
    EXPECT_EQ(alpa->stage_layers.size(), static_cast<std::size_t>(e.pp)) << model;
    for (const std::int64_t tp : alpa->stage_tp) EXPECT_EQ(tp, e.tp) << model;
    EXPECT_EQ(alpa->microbatch, e.microbatch * e.dp) << model;
    EXPECT_GE(alpa->evaluations, 100 * ours->evaluated) << model;
  }
}

TEST(Parallelism, RandomSearchFindsNothingBetter) {
  const ParallelismQuestion q = question("llama2-7b", "dgx-a100", 16, 64);
  const auto plan = plan_parallelism(q);
  const auto drawn = random_search(q, 200, 7);
  ASSERT_TRUE(plan.has_value() && drawn.has_value());
  EXPECT_EQ(plan->legal, drawn->legal);
  EXPECT_GE(drawn->best.front().iteration_s, plan->best.front().iteration_s);
  const auto again = random_search(q, 200, 7);
  EXPECT_EQ(again->best.front().iteration_s, drawn->best.front().iteration_s);
}

TEST(Parallelism, SaysWhyNothingFits) {
  EXPECT_EQ(plan_parallelism(question("gpt3-175b", "dgx-a100", 8, 64)).error().code, Code::kInput);
  EXPECT_NE(plan_parallelism(question("gpt3-175b", "dgx-a100", 8, 64)).error().message.find("fits in"),
            std::string::npos);
  ParallelismQuestion none = question("gpt3-175b", "dgx-a100", 0, 64);
  EXPECT_EQ(plan_parallelism(none).error().code, Code::kUsage);
}

TEST(Parallelism, StopsWhenAsked) {
  ParallelismQuestion q = question("gpt3-175b", "dgx-a100", 1024, 1024);
  q.stop = [] { return true; };
  const auto plan = plan_parallelism(q);
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->partial);
  EXPECT_LE(plan->legal, 1024U);
}

TEST(Space, DivisorsAscend) {
  EXPECT_EQ(divisors(12), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(divisors(1), std::vector<std::int64_t>{1});
  EXPECT_EQ(divisors(49), (std::vector<std::int64_t>{1, 7, 49}));
}

}  // namespace
}  // namespace comity::plan
