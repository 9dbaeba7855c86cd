// SPDX-License-Identifier: Apache-2.0
// Public example files for tests: COMITY_SHARED, else ../shared beside the checkout. Where they are absent a test is
// skipped, or fails with CI=true.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace comity::workload {

inline std::filesystem::path shared_workload() {
  const char* root = std::getenv("COMITY_SHARED");
  return std::filesystem::path(root != nullptr ? root : "../shared") / "data" / "workload";
}

inline bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Every file below `folder` whose name ends with `end`, sorted.
inline std::vector<std::string> shared_files(const std::string& folder, const std::string& end) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_workload() / folder))
    if (entry.is_regular_file() && entry.path().string().ends_with(end)) out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

// Calls read(piece) with 50 beginnings of the bytes.
template <class Read>
void cut_everywhere(const std::string& bytes, std::uint64_t seed, Read read) {
  Rng rng(seed);
  for (int i = 0; i < 50; ++i) read(bytes.substr(0, rng.below(bytes.size() + 1)));
}

}  // namespace comity::workload

#define COMITY_NEED_WORKLOADS()                                                                \
  if (!std::filesystem::exists(::comity::workload::shared_workload())) {                       \
    if (::comity::workload::in_ci()) FAIL() << ::comity::workload::shared_workload().string(); \
    GTEST_SKIP() << "no " << ::comity::workload::shared_workload().string();                   \
  }
