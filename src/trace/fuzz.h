// SPDX-License-Identifier: Apache-2.0
// What every trace fuzzer does with its bytes: read them strictly and leniently, and hold what was read to the
// promises that the rest of the program builds on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/limits.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace comity::trace {

inline void check_trace(const Trace& trace) {
  COMITY_CHECK(!trace.rows.empty());
  COMITY_CHECK(trace.text_ids.empty() || trace.text_ids.size() == trace.rows.size());
  std::string csv;
  const CsvColumns columns = needed_columns(trace);
  append_csv_header(csv, columns);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const Row& row = trace.rows[i];
    COMITY_CHECK(row.submit >= 0 && row.submit <= kMaxTime && row.duration >= 0 && row.duration <= kMaxTime);
    COMITY_CHECK(row.request.shape.total() >= 1 && row.request.shape.total() <= limits::kGpusPerJob);
    COMITY_CHECK(row.wait >= -1 && row.request.estimate >= -1);
    if (row.request.attributes != profile::kNoAttributes) {
      const profile::Attributes& a = trace.attributes[row.request.attributes];
      COMITY_CHECK(a.gpu_milli == -1 || (a.gpu_milli >= 1 && a.gpu_milli <= 1000));
      COMITY_CHECK(a.deadlines.first + std::size_t{a.deadlines.count} <= trace.deadlines.size());
      COMITY_CHECK(a.gpu_models.first + std::size_t{a.gpu_models.count} <= trace.gpu_models.size());
    }
    append_csv_row(csv, columns, trace, i);
  }
  auto source = memory_source(csv);
  COMITY_CHECK(source.has_value());
  const auto back = read_trace_from(std::move(*source), "back", {.format = "comity"});
  COMITY_CHECK(back.has_value() && back->rows.size() == trace.rows.size());
}

inline void fuzz_read(std::string_view bytes, const char* format, const std::string& columns) {
  for (const bool skip : {false, true}) {
    auto source = memory_source(bytes);
    if (!source) continue;
    ReadOptions options;
    options.format = format;
    options.columns = columns;
    options.skip_bad = skip;
    const auto trace = read_trace_from(std::move(*source), "fuzz", options);
    if (trace)
      check_trace(*trace);
    else
      COMITY_CHECK(!trace.error().message.empty());
  }
}

}  // namespace comity::trace
