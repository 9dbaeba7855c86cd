// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/input.h"
#include "base/rng.h"
#include "workload/calculon/cost.h"
#include "workload/foreign/shared_data.h"

namespace comity::workload::calculon {
namespace {

bool present() {
  const bool there = std::filesystem::exists(shared_workload().parent_path() / "calculon");
  EXPECT_TRUE(there || !in_ci());
  return there;
}

Result<Breakdown> run(const std::string& model, const std::string& execution, const std::string& system) {
  const std::string folder = (shared_workload().parent_path() / "calculon").string();
  const auto text = [&](const std::string& file) { return *read_document(folder + "/" + file + ".json"); };
  const auto app = parse_application(text("models/" + model), model);
  const auto exe = parse_execution(text(execution), execution);
  const auto sys = parse_system(text("systems/" + system), system);
  EXPECT_TRUE(app.has_value() && exe.has_value() && sys.has_value()) << model << " " << execution;
  if (!app || !exe || !sys) return fail(Code::kInput, "not read");
  return evaluate(*app, *exe, *sys);
}

struct Validation {
  const char* model;
  const char* execution;
  double total;
};

TEST(Calculon, TheEightTotalsOfItsOwnValidation) {  // specs: configtuner.md 7, with a100_80g.json
  if (!present()) GTEST_SKIP() << "no shared data";
  for (const Validation& v : std::initializer_list<Validation>{{"megatron-22B", "megatron-22B_full", 1.40},
                                                               {"megatron-22B", "megatron-22B_seqsel", 1.14},
                                                               {"gpt3-175B", "gpt3-175B_full", 18.03},
                                                               {"gpt3-175B", "gpt3-175B_seqsel", 13.64},
                                                               {"turing-530B", "turing-530B_full", 49.89},
                                                               {"turing-530B", "turing-530B_seqsel", 34.47},
                                                               {"megatron-1T", "megatron-1T_full", 90.08},
                                                               {"megatron-1T", "megatron-1T_seqsel", 66.04}}) {
    const auto got = run(v.model, std::string("validation/seqsel/tab5/") + v.execution, "a100_80g");
    ASSERT_TRUE(got.has_value()) << v.execution << ": " << got.error().text();
    EXPECT_NEAR(got->total_time, v.total, 0.006) << v.execution;
  }
}

TEST(Calculon, BreakdownsTermByTerm) {
  if (!present()) GTEST_SKIP() << "no shared data";
  struct Row {
    const char* model;
    const char* execution;
    double fw, bw, optim, recompute, recomm, bubble, tp, pp, total;
  };
  for (const Row& r : std::initializer_list<Row>{
           {"gpt3-175B", "gpt3-175B_full", 3.649, 6.906, .022, 3.649, .709, .633, 1.595, .867, 18.029},
           {"gpt3-175B", "gpt3-175B_seqsel", 3.334, 6.348, .022, .319, .536, .479, 2.487, .115, 13.638},
           {"megatron-1T", "megatron-1T_full", 17.448, 34.177, .014, 17.448, 1.948, 9.868, 4.386, 4.793, 90.081}}) {
    const auto got = run(r.model, std::string("validation/seqsel/tab5/") + r.execution, "a100_80g");
    ASSERT_TRUE(got.has_value());
    EXPECT_NEAR(got->fw_time, r.fw, 6e-4) << r.execution;
    EXPECT_NEAR(got->bw_time, r.bw, 6e-4) << r.execution;
    EXPECT_NEAR(got->optim_step_time, r.optim, 6e-4) << r.execution;
    EXPECT_NEAR(got->recompute_time, r.recompute, 6e-4) << r.execution;
    EXPECT_NEAR(got->recomm_exposed_time, r.recomm, 6e-4) << r.execution;
    EXPECT_NEAR(got->bubble_time, r.bubble, 6e-4) << r.execution;
    EXPECT_NEAR(got->tp_comm_exposed_time, r.tp, 6e-4) << r.execution;
    EXPECT_NEAR(got->pp_comm_exposed_time, r.pp, 6e-4) << r.execution;
    EXPECT_NEAR(got->total_time, r.total, 6e-4) << r.execution;
  }
}

TEST(Calculon, TheExampleOfATrillionOn3072) {  // specs: mixnet.md 2.4
  if (!present()) GTEST_SKIP() << "no shared data";
  for (const char* system : {"a100_80g", "a100_80e"}) {
    const auto got = run("megatron-1T", "examples/3072_t4_p64_d12_mbs4_full", system);
    ASSERT_TRUE(got.has_value()) << got.error().text();
    if (std::abs(got->total_time - 131.9006) > 0.01) continue;
    EXPECT_NEAR(got->total_time, 131.9006, 5e-5);
    EXPECT_NEAR(got->fw_time, 15.4804, 5e-5);
    EXPECT_NEAR(got->bw_time, 30.3475, 5e-5);
    EXPECT_NEAR(got->bubble_time, 65.0829, 5e-5);
    EXPECT_NEAR(got->tp_comm_exposed_time, 2.9645, 5e-5);
    EXPECT_NEAR(got->mem_tier1_cap_req / 1073741824.0, 79.554, 6e-4);
    EXPECT_NEAR(got->sample_rate, 23.29, 5e-3);
    EXPECT_NEAR(100 * got->total_efficiency, 30.46, 5e-3);
    return;
  }
  FAIL() << "neither system file gives 131.9006 s";
}

TEST(Calculon, EveryFileReadsAndCutAnywhereNamesTheLine) {
  if (!present()) GTEST_SKIP() << "no shared data";
  const auto root = shared_workload().parent_path() / "calculon";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".json") continue;
    ++files;
    const std::string name = entry.path().string();
    const std::string bytes = bytes_of(entry.path());
    const auto read = [&](std::string_view text) -> Status {
      const auto drop = [](auto result) -> Status { return result ? Status() : fail(result.error()); };
      if (name.find("/models/") != name.npos) return drop(parse_application(text, name));
      if (name.find("/systems/") != name.npos) return drop(parse_system(text, name));
      return drop(parse_execution(text, name));
    };
    EXPECT_TRUE(read(bytes).has_value()) << name << ": " << read(bytes).error().text();
    cut_everywhere(bytes, files, [&](const std::string& cut) {
      const Status status = read(cut);
      if (status) return;
      EXPECT_EQ(status.error().file, name);
      EXPECT_GE(status.error().line, 1) << cut;
    });
  }
  EXPECT_GT(files, 40U);
}

TEST(Calculon, RulesOfItsOwnAreKept) {
  Execution e;
  e.num_procs = e.tensor_par = 8;
  e.batch_size = 4;
  Application app{6144, 24576, 2048, 64, 96, 48};
  System sys;
  sys.matrix[1] = sys.vector[1] = {1e14, {{0, 0.5}}};
  sys.mem1 = sys.mem2 = {1e12, 1e12, {{0, 0.9}}};
  Network net;
  net.bandwidth = 1e11;
  net.size = 8;
  net.ops.fill({1, 0});
  net.must_be_filled = true;
  sys.networks = {net};
  ASSERT_TRUE(evaluate(app, e, sys).has_value());
  const auto field = [&](Execution changed) {
    const auto got = evaluate(app, changed, sys);
    return got ? std::string() : got.error().field;
  };
  Execution two = e;
  two.tensor_par = 16;
  EXPECT_EQ(field(two), "tensor_par_net");  // more ranks than the network joins
  two.tensor_par = 3;
  EXPECT_EQ(field(two), "tensor_par_net");  // does not fill it
  Execution chunks = e;
  chunks.pipeline_interleaving = 5;
  EXPECT_EQ(field(chunks), "pipeline_interleaving");
  Execution type = e;
  type.datatype = ElementType::kFloat8;
  EXPECT_EQ(field(type), "datatype");
  Execution far = e;
  far.data_par_net = 1;
  EXPECT_EQ(field(far), "data_par_net");
}

TEST(Calculon, OverlapAndOffloadMoveTimeAsTheyShould) {
  if (!present()) GTEST_SKIP() << "no shared data";
  const std::string root = (shared_workload().parent_path() / "calculon").string();
  const auto app = *parse_application(*read_document(root + "/models/gpt3-175B.json"), "");
  const auto sys = *parse_system(*read_document(root + "/systems/a100_80g.json"), "");
  const auto base = *parse_execution(*read_document(root + "/validation/seqsel/tab5/gpt3-175B_seqsel.json"), "");
  const Breakdown plain = *evaluate(app, base, sys);
  Execution e = base;
  e.tensor_par_overlap = TensorParOverlap::kRing;
  const Breakdown ring = *evaluate(app, e, sys);
  e.tensor_par_overlap = TensorParOverlap::kPipe;
  const Breakdown pipe = *evaluate(app, e, sys);
  EXPECT_LT(ring.tp_comm_exposed_time, plain.tp_comm_exposed_time);
  EXPECT_LT(ring.tp_comm_exposed_time, pipe.tp_comm_exposed_time);
  e = base;
  e.weight_offload = e.activations_offload = e.optimizer_offload = true;
  const Breakdown offload = *evaluate(app, e, sys);
  EXPECT_LT(offload.mem_tier1_cap_req, plain.mem_tier1_cap_req);
  EXPECT_GT(offload.mem_tier2_cap_req, 0);
  EXPECT_GT(offload.total_time, plain.total_time);
}

}  // namespace
}  // namespace comity::workload::calculon
