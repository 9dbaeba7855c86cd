// SPDX-License-Identifier: Apache-2.0
// Real traces for tests: COMITY_SHARED, else ../shared beside the checkout. Where they are absent a test is skipped,
// or fails with CI=true.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "trace/reader.h"

namespace comity::trace {

inline std::string shared_trace(const std::string& name) {
  const char* root = std::getenv("COMITY_SHARED");
  return (std::filesystem::path(root != nullptr ? root : "../shared") / "data" / "traces" / name).string();
}

inline bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

inline Result<Trace> read_text(const std::string& text, ReadOptions options = {}) {
  auto source = memory_source(text);
  if (!source) return fail(source.error());
  return read_trace_from(std::move(*source), "memory", options);
}

}  // namespace comity::trace

#define COMITY_NEED_TRACE(path)                                   \
  if (!std::filesystem::exists(path)) {                           \
    if (::comity::trace::in_ci()) FAIL() << path << " is absent"; \
    GTEST_SKIP() << path << " is absent (set COMITY_SHARED)";     \
  }
