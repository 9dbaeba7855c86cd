// SPDX-License-Identifier: Apache-2.0
// Job traces out. Comity CSV holds every field of a Row exactly: reading it gives the same jobs again. SWF holds what
// the Standard Workload Format has room for: whole seconds (rounded), processors in all, users and tenants as numbers
// (their own where they are whole numbers, else in the order in which they appear, named in the header). O(jobs).
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace comity::trace {

// The columns of Comity CSV that are written, by their place in comity_columns.h: those that some job of a trace needs.
struct CsvColumns {
  std::bitset<64> wanted{0b1111};  // job_id, submit_s, duration_s, gpus
};
[[nodiscard]] CsvColumns needed_columns(const Trace& trace);
void append_csv_header(std::string& out, const CsvColumns& columns);
// One line. `row` is an index into `trace.rows`.
void append_csv_row(std::string& out, const CsvColumns& columns, const Trace& trace, std::size_t row);

// Seconds with as many digits behind the point as it takes, at most nine; ns >= 0.
void append_seconds(std::string& out, Time ns);
void append_number(std::string& out, std::int64_t value);

// `path` "-" is standard output. Errors (kInput) name the path.
[[nodiscard]] Status write_csv(const Trace& trace, const std::string& path);
[[nodiscard]] Status write_swf(const Trace& trace, const std::string& path);
// What SWF has no room for and this trace has, for people: "fractions of a second", "nodes", "GPU types" ... O(jobs).
[[nodiscard]] std::vector<std::string> lost_in_swf(const Trace& trace);
// `format`: "csv" (or "comity") or "swf"; kUsage for any other.
[[nodiscard]] Status write_trace(const Trace& trace, std::string_view format, const std::string& path);

}  // namespace comity::trace
