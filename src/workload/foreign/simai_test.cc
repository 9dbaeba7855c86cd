// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/simai.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <utility>

#include "workload/foreign/shared_data.h"

namespace comity::workload {
namespace {

Result<SimaiWorkload> read_text(const std::string& text) {
  auto source = memory_source(text);
  if (!source) return fail(source.error());
  LineReader reader(std::move(*source), "memory");
  return read_simai_from(reader);
}

SimaiMachine reference_machine(std::int64_t gpus) {
  SimaiMachine m;
  m.gpus = gpus;
  m.nvlink_gb_s = 360;
  m.nic_gb_s = 48.5;
  return m;
}

// Cells of the reference files, without the space that ends some lines.
std::string plain(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

TEST(SimaiTest, ReferenceCsvs) {
  COMITY_NEED_WORKLOADS();
  struct Case {
    const char* workload;
    const char* reference;
    const char* prefix;
    std::int64_t gpus;
  };
  for (const Case& c :
       {Case{"simai/reference_micro_workload.txt", "simai/reference_SimAI_analytical_micro-EndToEnd.csv", "micro-", 16},
        Case{"simai/workload_analytical.txt", "simai/reference_SimAI_analytical_example-EndToEnd.csv", "example-",
             9216}}) {
    const auto workload = read_simai((shared_workload() / c.workload).string());
    ASSERT_TRUE(workload.has_value()) << workload.error().text();
    const auto estimate = simai_estimate(*workload, reference_machine(c.gpus), c.workload);
    ASSERT_TRUE(estimate.has_value()) << estimate.error().text();
    EXPECT_EQ(plain(simai_csv(*estimate, c.prefix)), plain(bytes_of(shared_workload() / c.reference)));
  }
}

TEST(SimaiTest, MicroValues) {
  const auto workload = read_text(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 16 "
      "checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0\n4\n"
      "a\t-1\t1000\tALLREDUCE\t1073741824\t1\tNONE\t0\t1\tNONE\t0\t100\n"
      "b\t-1\t1000\tALLGATHER\t1073741824\t1\tNONE\t0\t1\tNONE\t0\t100\n"
      "c\t-1\t1000\tALLTOALL\t1073741824\t1\tNONE\t0\t1\tNONE\t0\t100\n"
      "d\t-1\t1000\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t1073741824\t100\n");
  ASSERT_TRUE(workload.has_value()) << workload.error().text();
  const auto e = simai_estimate(*workload, reference_machine(16), "memory");
  ASSERT_TRUE(e.has_value()) << e.error().text();
  EXPECT_NEAR(e->layers[0].forward.total_us, 4861, 0.5);
  EXPECT_NEAR(e->layers[1].forward.total_us, 2557, 0.5);
  EXPECT_NEAR(e->layers[2].forward.total_us, 2562, 0.5);
  EXPECT_NEAR(e->layers[3].weight_grad.total_us, 20619, 0.5);
  EXPECT_NEAR(e->total_us, 30602, 0.5);
}

TEST(SimaiTest, HeaderVariants) {
  const std::string layer = "\n1\nx -1 5 NONE 0 0 NONE 0 0 NONE 0 1\n";
  const auto old = read_text(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 8 checkpoints: 0 "
      "checkpoint_initiates: 0" +
      layer);
  ASSERT_TRUE(old.has_value()) << old.error().text();
  EXPECT_EQ(old->tp, 8);
  EXPECT_FALSE(old->vpp.has_value());
  const auto estimate = simai_estimate(*old, reference_machine(8), "memory");
  ASSERT_TRUE(estimate.has_value());
  EXPECT_EQ(estimate->notes.size(), 1U);
  const auto bare =
      read_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 pp: 12 pp_comm 50331648" + layer);
  ASSERT_TRUE(bare.has_value()) << bare.error().text();
  EXPECT_EQ(bare->pp_comm, 50331648);
  EXPECT_TRUE(read_text("MICRO" + layer).has_value());
  const auto saved = read_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 2 3 4 checkpoint_initiates: 1 5" + layer);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->checkpoints, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(saved->checkpoint_initiates, (std::vector<std::int64_t>{5}));
}

TEST(SimaiTest, Refusals) {
  const auto message = [](const std::string& text) {
    const auto got = read_text(text);
    return got ? std::string("read") : got.error().text();
  };
  EXPECT_NE(message("").find("the header"), std::string::npos);
  EXPECT_NE(message("GPT\n1\n").find("no kind of parallelism"), std::string::npos);
  EXPECT_NE(message("MICRO\n0\n").find("memory:2: layers"), std::string::npos);
  EXPECT_NE(message("MICRO\n2\nx -1 5 NONE 0 0 NONE 0 0 NONE 0 1\n").find("layer 2 of 2"), std::string::npos);
  EXPECT_NE(message("MICRO\n1\nx -1 5 NONE 0 0 NONE 0 0 NONE 0\n").find("11 columns"), std::string::npos);
  EXPECT_NE(message("MICRO\n1\nx -1 5 REDUCE 0 0 NONE 0 0 NONE 0 1\n").find("memory:3: fwd_comm"), std::string::npos);
  EXPECT_NE(message("MICRO\n1\nx -1 -5 NONE 0 0 NONE 0 0 NONE 0 1\n").find("fwd_compute"), std::string::npos);
  EXPECT_NE(message("MICRO ep: 0\n1\n").find("ep"), std::string::npos);
}

TEST(SimaiTest, NoWorkIsAnError) {
  const auto workload = read_text("MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 BROADCAST 8 100\n");
  ASSERT_TRUE(workload.has_value());
  const auto estimate = simai_estimate(*workload, reference_machine(8), "memory");
  ASSERT_FALSE(estimate.has_value());
  EXPECT_NE(estimate.error().text().find("takes no time"), std::string::npos);
}

TEST(SimaiTest, OutsideOfTheTables) {
  const auto workload = read_text(
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 8\n1\nx -1 0 ALLGATHER 17179869185 0 NONE 0 0 NONE 0 1\n");
  ASSERT_TRUE(workload.has_value());
  const auto over = simai_estimate(*workload, reference_machine(8), "memory");
  ASSERT_FALSE(over.has_value());
  EXPECT_NE(over.error().text().find("layer 1 (\"x\")"), std::string::npos);
  const auto few = simai_estimate(*workload, reference_machine(4), "memory");
  ASSERT_FALSE(few.has_value());
  EXPECT_NE(few.error().text().find("4 GPUs hold no"), std::string::npos);
}

TEST(SimaiTest, Ratios) {
  EXPECT_EQ(simai_ratio(SimaiRatio::kNvlink, 0, 1), 1.0F);
  EXPECT_EQ(simai_ratio(SimaiRatio::kNic, 1, 1), static_cast<float>(.45 / .81));
  EXPECT_EQ(simai_ratio(SimaiRatio::kNic, 17179869184.0, 1), 1.0F);
  EXPECT_EQ(simai_ratio(SimaiRatio::kNvlink, 1e9, 64), 1.0F);  // not measured
  EXPECT_EQ(simai_ratio(SimaiRatio::kAllToAll, 3 * 8388608.0, 9), static_cast<float>(.89 / .96));
  EXPECT_FALSE(simai_ratio(SimaiRatio::kNic, 17179869185.0, 1).has_value());
}

TEST(SimaiTest, PublicFilesReadAndReadBack) {
  COMITY_NEED_WORKLOADS();
  std::vector<std::string> files = shared_files("aicb/simAI", ".txt");
  for (const char* name :
       {"simai/microAllReduce.txt", "simai/reference_micro_workload.txt", "simai/workload_analytical.txt"})
    files.push_back((shared_workload() / name).string());
  ASSERT_GE(files.size(), 14U);
  for (const std::string& file : files) {
    const auto workload = read_simai(file);
    if (file.find("L65B-M1-C05") != std::string::npos) {  // says 839 layers and has 33
      ASSERT_FALSE(workload.has_value());
      EXPECT_NE(workload.error().text().find("layer 34 of 839"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(workload.has_value()) << workload.error().text();
    const auto again = read_text(write_simai(*workload));
    ASSERT_TRUE(again.has_value()) << file << again.error().text();
    EXPECT_EQ(*again, *workload) << file;
    EXPECT_EQ(write_simai(*again), write_simai(*workload));
    const auto estimate = simai_estimate(*workload, reference_machine(64), file);
    if (estimate)
      EXPECT_GT(estimate->total_us, 0);
    else
      EXPECT_FALSE(estimate.error().message.empty());
  }
}

TEST(SimaiTest, CutPublicFiles) {
  COMITY_NEED_WORKLOADS();
  std::vector<std::string> files = shared_files("aicb/simAI", ".txt");
  files.push_back((shared_workload() / "simai/workload_analytical.txt").string());
  for (const std::string& file : files)
    cut_everywhere(bytes_of(file), files.size(), [&](const std::string& piece) {
      const auto got = read_text(piece);
      EXPECT_TRUE(got || (!got.error().message.empty() && got.error().file == "memory" && got.error().line >= 1));
    });
}

RC_GTEST_PROP(SimaiProperty, ReadsBackEqual, ()) {
  const auto number = [](std::int64_t high) { return *rc::gen::inRange<std::int64_t>(0, high); };
  const auto pass = [&] {
    SimaiPass p;
    p.compute_ns = number(1'000'000'000);
    p.operation = static_cast<SimaiOperation>(number(7));
    p.suffix = static_cast<SimaiSuffix>(number(3));
    p.bytes = number(std::int64_t{1} << 40);
    return p;
  };
  SimaiWorkload w;
  w.parallelism =
      *rc::gen::element<std::string>("MICRO", "HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_CUSTOMIZED", "DATA");
  if (*rc::gen::arbitrary<bool>()) w.tp = 1 + number(1000);
  if (*rc::gen::arbitrary<bool>()) w.vpp = 1 + number(10);
  if (*rc::gen::arbitrary<bool>()) w.pp_comm = number(1 << 30);
  if (*rc::gen::arbitrary<bool>()) w.checkpoints = {1, 2};
  for (std::int64_t n = 1 + number(5); n > 0; --n) {
    SimaiLayer layer;
    layer.name = "layer" + std::to_string(n);
    layer.forward = pass();
    layer.input_grad = pass();
    layer.weight_grad = pass();
    layer.update_ns = number(1000);
    if (w.parallelism == "HYBRID_CUSTOMIZED") layer.policy = "DATA";
    w.layers.push_back(layer);
  }
  const auto back = read_text(write_simai(w));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == w);
}

// More bandwidth never costs time, and more overlap neither.
RC_GTEST_PROP(SimaiProperty, FasterLinksAreNoSlower, ()) {
  const auto workload = read_text(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 4 pp: 2 vpp: 1 ga: 4 pp_comm: 1000\n2\n"
      "x -1 5 ALLGATHER 99999999 1 ALLTOALL_EP 88888888 0 ALLREDUCE 77777777 1\n"
      "y -1 5 ALLTOALL_EP 55555555 1 REDUCESCATTER 66666666 0 ALLGATHER_DP_EP 44444444 1\n");
  RC_ASSERT(workload.has_value());
  SimaiMachine slow = reference_machine(256);
  slow.nvlink_gb_s = *rc::gen::inRange(1, 500);
  slow.nic_gb_s = *rc::gen::inRange(1, 100);
  SimaiMachine fast = slow;
  fast.nvlink_gb_s *= 2;
  fast.nic_gb_s *= 2;
  fast.dp_overlap = 0.5;
  const auto a = simai_estimate(*workload, slow, "memory");
  const auto b = simai_estimate(*workload, fast, "memory");
  RC_ASSERT(a.has_value() && b.has_value());
  RC_ASSERT(b->total_us <= a->total_us);
}

}  // namespace
}  // namespace comity::workload
