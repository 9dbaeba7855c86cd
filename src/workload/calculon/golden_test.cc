// SPDX-License-Identifier: Apache-2.0
// Every statistic against Calculon's own, in every mode it has (tests/golden/calculon.txt, which states its source).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.h"
#include "workload/calculon/cost.h"

namespace comity::workload::calculon {
namespace {

struct Case {
  Application app;
  System sys;
  Execution exe;
  std::string execution;  // as it stands in the file
  std::vector<double> expect;
};
struct Table {
  std::vector<std::string> names;
  std::vector<Case> cases;
};

template <class T>
T taken(Result<T> result) {
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().text());
  return result ? *result : T();
}

Table read_table() {
  Table out;
  Case now;
  std::ifstream in("tests/golden/calculon.txt");
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    const std::string kind = line.substr(0, space);
    const std::string rest = space == line.npos ? "" : line.substr(space + 1);
    std::istringstream words(rest);
    if (kind == "terms")
      for (std::string word; words >> word;) out.names.push_back(word);
    if (kind == "app") now.app = taken(parse_application(rest, "app"));
    if (kind == "system") now.sys = taken(parse_system(rest, "system"));
    if (kind == "execution") {
      now.execution = rest;
      now.exe = taken(parse_execution(rest, "execution"));
    }
    if (kind != "expect") continue;
    now.expect.clear();
    for (std::string word; words >> word;) now.expect.push_back(parse_double(word).value_or(NAN));
    out.cases.push_back(now);
  }
  return out;
}

TEST(CalculonGolden, EveryTermOfFortyExecutions) {
  const Table table = read_table();
  ASSERT_EQ(table.cases.size(), 40U);
  ASSERT_EQ(table.names.size(), terms().size());
  for (std::size_t i = 0; i < terms().size(); ++i) EXPECT_EQ(table.names[i], terms()[i].name);
  for (const Case& c : table.cases) {
    ASSERT_EQ(c.expect.size(), terms().size() + 1);
    const auto got = evaluate(c.app, c.exe, c.sys);
    ASSERT_TRUE(got.has_value()) << c.execution << got.error().text();
    for (std::size_t i = 0; i < terms().size(); ++i) {
      const double value = (*got).*(terms()[i].value);
      EXPECT_NEAR(value, c.expect[i], 1e-9 * std::abs(c.expect[i])) << terms()[i].name << " of " << c.execution;
    }
    EXPECT_EQ(got->fits, c.expect.back() != 0) << c.execution;
  }
}

// The parts make up the whole, whatever the mode.
TEST(CalculonGolden, TotalIsTheSumOfWhatIsExposed) {
  for (const Case& c : read_table().cases) {
    const Breakdown b = taken(evaluate(c.app, c.exe, c.sys));
    const double sum = b.fw_time + b.bw_time + b.optim_step_time + b.fw_offload_overhead + b.bw_offload_overhead +
                       b.recompute_time + b.recomm_exposed_time + b.bubble_time + b.tp_comm_exposed_time +
                       b.pp_comm_exposed_time + b.dp_comm_exposed_time;
    EXPECT_NEAR(sum, b.total_time, 1e-12 * sum);
    EXPECT_NEAR(b.compute_efficiency * b.system_efficiency, b.total_efficiency, 1e-12);
    if (!c.exe.training) {
      EXPECT_EQ(b.bw_time + b.optim_step_time + b.dp_comm_exposed_time, 0);
    }
  }
}

// Twenty microseconds are allowed on the machines we build for; sanitizers and busy machines get more.
TEST(CalculonGolden, AnEstimateTakesMicroseconds) {
  const Table table = read_table();
  constexpr int kRounds = 50;
  double sum = 0;
  double best_us = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (const Case& c : table.cases) sum += taken(evaluate(c.app, c.exe, c.sys)).total_time;
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best_us = std::min(best_us, took.count() / static_cast<double>(table.cases.size()));
  }
  std::printf("an estimate: %.2f us\n", best_us);
  EXPECT_GT(sum, 0);
  EXPECT_LT(best_us, 400);
}

// What Calculon refuses in an execution, changed one field at a time in one that is sound.
TEST(CalculonGolden, WrongFieldsAreNamed) {
  const std::string sound = read_table().cases.at(0).execution;
  const auto field_of = [&](const std::string& key, const std::string& value) {
    const std::size_t at = sound.find("\"" + key + "\": ") + key.size() + 4;
    std::string text = sound;
    text.replace(at, text.find_first_of(",}", at) - at, value);
    const auto got = parse_execution(text, "exe.json");
    EXPECT_TRUE(got || (got.error().file == "exe.json" && got.error().line == 1)) << key;
    return got ? std::string() : got.error().field;
  };
  for (const char* key : {"num_procs", "tensor_par", "pipeline_par", "data_par", "batch_size", "microbatch_size",
                          "pipeline_interleaving"})
    for (const char* value : {"0", "-1", "1.5", "\"8\"", "true", "1e99"}) EXPECT_EQ(field_of(key, value), key) << value;
  for (const char* key : {"tensor_par_net", "pipeline_par_net", "data_par_net"}) EXPECT_EQ(field_of(key, "-1"), key);
  for (const char* key :
       {"datatype", "attention_type", "activation_recompute", "tensor_par_comm_type", "tensor_par_overlap"})
    for (const char* value : {"\"other\"", "1", "true"}) EXPECT_EQ(field_of(key, value), key) << value;
  for (const char* key : {"fused_activation", "optimizer_sharding", "seq_par_ag_redo", "data_par_overlap",
                          "weight_offload", "activations_offload", "optimizer_offload", "training"})
    for (const char* value : {"0", "\"true\""}) EXPECT_EQ(field_of(key, value), key) << value;
  EXPECT_EQ(field_of("num_procs", "1048575"), "num_procs");
}

}  // namespace
}  // namespace comity::workload::calculon
