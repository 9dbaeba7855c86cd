// SPDX-License-Identifier: Apache-2.0
// All-reduces that people measured with nccl-tests, beside what the models say: the table of
// docs/systems/collectives.md, which must be this one to the digit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "workload/collective/formulas.h"
#include "workload/collective/nccl.h"
#include "workload/collective/test_systems.h"

namespace comity::workload {
namespace {

struct Row {
  std::string source;
  std::string machine;
  Group group;
  double bytes = 0;
  double time_us = 0;
  double busbw = 0;  // as published
};

std::vector<Row> read_rows(std::istream& file) {
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);  // titles
  while (std::getline(file, line)) {
    std::vector<std::string> f;
    std::istringstream words(line);
    for (std::string field; std::getline(words, field, ',');) f.push_back(field);
    if (f.size() < 9 || f[6].empty()) continue;  // simulated rows have no time
    const std::int64_t ranks = std::stoll(f[2]);
    rows.push_back(
        {f[0], f[1], {ranks, ranks / std::stoll(f[3]), 1}, std::stod(f[5]), std::stod(f[6]), std::stod(f[8])});
  }
  return rows;
}

System system_of(const Row& row) {
  const auto says = [&](const char* words) { return row.machine.find(words) != std::string::npos; };
  if (says("16x100G")) {
    System system = dgx_a100();
    system.nccl.channels = 16;  // a ring for each NIC
    system.nccl.intra_gb_s = system.nccl.inter_gb_s = 12;
    return system;
  }
  if (says("A100")) return dgx_a100();
  System system = dgx_h100();
  if (says("200G")) system.networks[1].gb_s = 25;
  if (says("one NVLink pair")) {
    system = dgx_a100();
    system.networks[0].gb_s = 56.25;  // taken for a bridge of four links of 14 GB/s
  }
  return system;
}

// Rows that say nothing about the model: a machine out of order, a machine that isn't known.
bool counts(const Row& row) {
  return row.machine.find("degraded") == std::string::npos && row.machine.find("one NVLink pair") == std::string::npos;
}

std::string table_of(const std::vector<Row>& rows) {
  std::string text =
      "| source | machine | ranks | MiB | measured us | busbw | NCCL model us | busbw | error | chosen | alpha-beta us "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  double sum = 0;
  double signed_sum = 0;
  double most = 0;
  int counted = 0;
  for (const Row& row : rows) {
    const System system = system_of(row);
    NcclRow chosen;
    for (const NcclRow& r : nccl_table(system, Collective::kAllReduce, row.bytes, row.group)) {
      if (r.chosen) chosen = r;
    }
    const double us = chosen.time_s * 1e6;
    const double error = us / row.time_us - 1;
    const double busbw = row.bytes / us / 1e3 * closed_form::busbw_factor(Collective::kAllReduce, row.group.ranks);
    const double bound =
        collective_s(CostModel::kAlphaBeta, system, Collective::kAllReduce, row.bytes, row.group) * 1e6;
    text +=
        fmt::format("| {} | {} | {} | {:.0f} | {:.1f} | {:.2f} | {:.1f} | {:.2f} | {:+.1f} %{} | {} {} | {:.1f} |\n",
                    row.source, row.machine, row.group.ranks, row.bytes / 1048576, row.time_us, row.busbw, us, busbw,
                    error * 100, counts(row) ? "" : " (not counted)", nccl_algorithm_name(chosen.algorithm),
                    nccl_protocol_name(chosen.protocol), bound);
    if (!counts(row)) continue;
    ++counted;
    sum += std::abs(error);
    signed_sum += error;
    most = std::max(most, std::abs(error));
  }
  text += fmt::format("\nTime, {} rows counted: mean error {:.1f} %, signed {:+.1f} %, most {:.1f} %.\n", counted,
                      100 * sum / counted, 100 * signed_sum / counted, 100 * most);
  return text;
}

TEST(Measured, TheDocumentHasThisTable) {
  const char* root = std::getenv("COMITY_SHARED");
  const auto path =
      std::filesystem::path(root != nullptr ? root : "../shared") / "data/fabric/nccl/allreduce_busbw_measured.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent (set COMITY_SHARED)";
  std::ifstream file(path);
  const std::vector<Row> rows = read_rows(file);
  ASSERT_EQ(rows.size(), 31U);
  // The published columns agree with each other.
  for (const Row& row : rows) {
    const double busbw =
        row.bytes / row.time_us / 1e3 * closed_form::busbw_factor(Collective::kAllReduce, row.group.ranks);
    EXPECT_NEAR(busbw, row.busbw, row.busbw * 5e-4 + .01) << row.source << ' ' << row.bytes;
  }
  const std::string table = table_of(rows);
  std::ifstream document("docs/systems/collectives.md");
  std::stringstream text;
  text << document.rdbuf();
  EXPECT_NE(text.str().find(table), std::string::npos) << "docs/systems/collectives.md must hold\n" << table;
}

}  // namespace
}  // namespace comity::workload
