// SPDX-License-Identifier: Apache-2.0
// What every reader's test does with its fixture: cut it anywhere, and write it as CSV and read that back.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "trace/test_files.h"
#include "trace/writer.h"

namespace comity::trace {

// A cut file is read as far as it goes, or refused with the line.
inline void expect_rows_or_a_line_when_cut(const std::string& whole, const std::string& format) {
  Rng rng(1);
  for (int i = 0; i < 50; ++i) {
    const std::string cut = whole.substr(0, rng.below(whole.size()));
    for (const bool skip : {false, true}) {
      ReadOptions options;
      options.format = format;
      options.skip_bad = skip;
      const auto trace = read_text(cut, options);
      if (trace) continue;
      EXPECT_EQ(trace.error().code, Code::kInput) << cut;
      EXPECT_GE(trace.error().line, 1) << cut << "\n" << trace.error().text();
    }
  }
}

inline std::string as_csv(const Trace& trace) {
  std::string csv;
  const CsvColumns columns = needed_columns(trace);
  append_csv_header(csv, columns);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) append_csv_row(csv, columns, trace, i);
  return csv;
}

inline void expect_csv_loses_nothing(const Trace& trace) {
  const std::string csv = as_csv(trace);
  const auto back = read_text(csv);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->format, "comity");
  EXPECT_EQ(as_csv(*back), csv);
  EXPECT_EQ(back->gpu_hours(), trace.gpu_hours());
}

inline std::uint64_t other_rows(const Trace& trace, const std::string& reason) {
  for (const OtherRows& rows : trace.other_rows) {
    if (rows.reason == reason) return rows.count;
  }
  return 0;
}

}  // namespace comity::trace
