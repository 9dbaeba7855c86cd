// SPDX-License-Identifier: Apache-2.0
#include "workload/execution.h"

#include <algorithm>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace comity::workload {
namespace {

const System& a100() {
  static const System system = *load_system("dgx-a100");
  return system;
}

using Change = std::function<void(Execution&)>;

// GPT-3 175B on 64 GPUs, with one change.
std::string error_of(const Change& change, const std::string& model = "gpt3-175b", const System& system = a100()) {
  Execution e;
  e.tp = 8;
  e.pp = 8;
  e.batch = 64;
  e.sequence_parallel = true;
  change(e);
  const Status status = check_execution(e, *load_model(model), system, "e.toml");
  return status ? std::string("none") : status.error().text();
}

TEST(CheckExecution, TakesWhatWasPublished) {
  EXPECT_EQ(error_of([](Execution&) {}), "none");
  const auto megatron_1t = [](Execution& e) {
    e.pp = 64;
    e.virtual_stages = 2;
    e.schedule = Schedule::kInterleaved;
    e.dp = 1;
    e.batch = 512;
  };
  EXPECT_EQ(error_of(megatron_1t, "megatron-1t"), "none");
  const auto deepseek = [](Execution& e) {
    e = {};
    e.pp = 16;
    e.dp = 128;
    e.ep = 64;
    e.batch = 128 * 64;
    e.schedule = Schedule::kDualPipe;
    e.datatype = Datatype::kFp8;
  };
  EXPECT_EQ(error_of(deepseek, "deepseek-v3", *load_system("h800")), "none");
  const auto llama = [](Execution& e) {
    e.pp = 16;
    e.dp = 64;
    e.batch = 1024;
    e.cp = 2;
    e.stage_layers = {7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7};
  };
  EXPECT_EQ(error_of(llama, "llama3-405b", *load_system("dgx-h100")), "none");
}

struct Case {
  Change change;
  const char* text;
  const char* model = "gpt3-175b";
};

TEST(CheckExecution, SaysWhatIsWrongAndWhatWouldFit) {
  const Case cases[] = {
      {[](Execution& e) { e.tp = 5; },
       "e.toml: tp: 96 heads cannot be split over tp = 5 (use one of 1, 2, 3, 4, 6, 8, "
       "12, 16, 24, 32, 48, 96)"},
      {[](Execution& e) { e.dp = 3; },
       "e.toml: batch: 64 sequences are no multiple of microbatch x dp = 1 x 3 (use 63 "
       "or 66)"},
      {[](Execution& e) { e.pp = 97; },
       "e.toml: pp: pp x virtual_stages = 97 chunks for 96 layers (pp x "
       "virtual_stages can be at most 96)"},
      {[](Execution& e) { e.ep = 2; }, "e.toml: ep: the model has no experts to spread (use 1)"},
      {[](Execution& e) { e.ep = 3; },
       "e.toml: ep: 64 experts cannot be split over ep = 3 (use one of 1, 2, 4, 8, 16, "
       "32, 64)",
       "deepseek-moe-16b"},
      {[](Execution& e) { e.ep = 4; }, "e.toml: ep: dp x cp = 1 x 1 ranks cannot form groups of ep = 4 (use 1)",
       "deepseek-moe-16b"},
      {[](Execution& e) {
         e.tp = 3;
         e.sequence_parallel = false;
       },
       "e.toml: tp: 3 neither divides nor fills nodes of 8 "
       "GPUs (use a divisor or a multiple of 8)"},
      {[](Execution& e) { e.cp = 3; },
       "e.toml: cp: 2048 tokens are no multiple of 2 x cp = 3 (make the sequence a "
       "multiple of 6)"},
      {[](Execution& e) { e.virtual_stages = 2; },
       "e.toml: virtual_stages: schedule 1f1b keeps one chunk a rank (use "
       "1, or schedule = \"interleaved\")"},
      {[](Execution& e) {
         e.virtual_stages = 2;
         e.schedule = Schedule::kInterleaved;
         e.microbatch = 64;
       },
       "e.toml: batch: interleaving runs micro-batches in rounds of pp = 8, there are 1 (make batch a multiple of "
       "microbatch x dp x pp = 512)"},
      {[](Execution& e) { e.datatype = Datatype::kFp8; },
       "e.toml: datatype: A100-SXM4-80GB has no fp8 (use bf16, fp16, "
       "fp32)"},
      {[](Execution& e) { e.stage_layers = {1, 2}; },
       "e.toml: stage_layers: 2 entries for pp x virtual_stages = 8 "
       "chunks (give one a chunk, in the order in which a token passes "
       "them)"},
      {[](Execution& e) { e.stage_layers.assign(8, 1); }, "e.toml: stage_layers: sum up to 8, the model has 96 layers"},
      {[](Execution& e) { e.tp = 1; },
       "e.toml: sequence_parallel: splits nothing at tp = 1 (set tp > 1, or "
       "sequence_parallel = false)"},
      {[](Execution& e) { e.tp = 0; }, "e.toml: tp: must be a whole number between 1 and 1000000, not 0"},
      {[](Execution& e) { e.order[0] = Axis::kPp; },
       "e.toml: order: must name tp, cp, ep, dp and pp once each, "
       "innermost first"},
      {[](Execution& e) { e.dp = e.cp = e.pp = 1000000; },
       "e.toml: dp: tp x cp x pp x dp is 8e+18 GPUs (at most "
       "1000000 GPUs are counted with)"},
      {[](Execution& e) {
         e.schedule = Schedule::kDualPipe;
         e.microbatch = 8;
       },
       "e.toml: batch: dualpipe needs an even "
       "number of at least 2 pp micro-batches, "
       "there are 8 (batch = microbatch x dp x "
       "16 is the least)"},
  };
  for (const Case& each : cases) EXPECT_EQ(error_of(each.change, each.model), each.text);
}

TEST(CheckExecution, KeepsToTheMachine) {
  System small = a100();
  small.gpus = 32;
  EXPECT_NE(error_of([](Execution&) {}, "gpt3-175b", small).find("64 GPUs, dgx-a100 has 32"), std::string::npos);
  small.gpus = 100;
  EXPECT_NE(error_of([](Execution& e) { e.dp = 2; }, "gpt3-175b", small).find("dp can be at most 1"),
            std::string::npos);
  small = a100();
  small.networks.resize(1);
  EXPECT_NE(error_of([](Execution&) {}, "gpt3-175b", small).find("the networks join 8"), std::string::npos);
  small.host_gb_s = 0;
  small.networks = a100().networks;
  EXPECT_NE(error_of([](Execution& e) { e.optimizer_offload = true; }, "gpt3-175b", small).find("host_gb_s"),
            std::string::npos);
}

TEST(LayersOfChunk, TheRestGoesToTheMiddle) {
  Model model;
  model.layers = 10;
  Execution e;
  e.pp = 4;
  const auto all = [&] {
    std::vector<std::int64_t> out;
    for (std::int64_t c = 0; c < e.pp * e.virtual_stages; ++c) out.push_back(layers_of_chunk(e, model, c));
    return out;
  };
  EXPECT_EQ(all(), (std::vector<std::int64_t>{2, 3, 3, 2}));
  model.layers = 9;  // towards the front where the middle is between two
  EXPECT_EQ(all(), (std::vector<std::int64_t>{2, 3, 2, 2}));
  model.layers = 11;
  EXPECT_EQ(all(), (std::vector<std::int64_t>{3, 3, 3, 2}));
  e.stage_layers = {1, 5, 5, 0};
  EXPECT_EQ(all(), e.stage_layers);
}

RC_GTEST_PROP(LayersOfChunk, EvenAndComplete, ()) {
  Model model;
  Execution e;
  e.pp = *rc::gen::inRange<std::int64_t>(1, 40);
  e.virtual_stages = *rc::gen::inRange<std::int64_t>(1, 6);
  model.layers = *rc::gen::inRange<std::int64_t>(1, 300);
  model.encoder_layers = *rc::gen::inRange<std::int64_t>(0, 20);
  std::int64_t sum = 0;
  std::int64_t least = 1000;
  std::int64_t most = 0;
  for (std::int64_t c = 0; c < e.pp * e.virtual_stages; ++c) {
    const std::int64_t n = layers_of_chunk(e, model, c);
    sum += n;
    least = std::min(least, n);
    most = std::max(most, n);
  }
  RC_ASSERT(sum == model.layers + model.encoder_layers);
  RC_ASSERT(most - least <= 1);
}

// Whatever the numbers, the answer is an error with a field, or an execution whose parts multiply out.
RC_GTEST_PROP(CheckExecution, SoundExecutionsDivide, ()) {
  const auto small = [](std::int64_t high) { return *rc::gen::inRange<std::int64_t>(-1, high); };
  Execution e;
  e.tp = small(10);
  e.cp = small(5);
  e.pp = small(20);
  e.dp = small(9);
  e.ep = small(9);
  e.virtual_stages = small(4);
  e.microbatch = small(4);
  e.batch = small(300);
  e.schedule = static_cast<Schedule>(*rc::gen::inRange(0, 6));
  const Model model = *load_model(*rc::gen::arbitrary<bool>() ? "deepseek-v3" : "llama3-8b");
  const Status status = check_execution(e, model, a100(), "f");
  if (!status) {
    RC_ASSERT(!status.error().field.empty());
    return;
  }
  RC_ASSERT(e.microbatches() * e.microbatch * e.dp == e.batch);
  RC_ASSERT(model.heads % e.tp == 0);
  RC_ASSERT(e.dp * e.cp % e.ep == 0);
}

}  // namespace
}  // namespace comity::workload
