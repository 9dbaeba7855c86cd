// SPDX-License-Identifier: Apache-2.0
// A job trace in memory: one Row a job, in the file's order, with the names the rows refer to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "profile/job_request.h"

namespace comity::trace {

struct Row {
  profile::JobRequest request;
  Time submit = 0;      // ns since the trace's origin, as in the file
  Time duration = 0;    // what it really ran, ns
  Time wait = -1;       // the wait the log recorded, ns; -1 = unknown
  std::int64_t id = 0;  // the file's job id where it is a whole number, else the row's position
};

struct SkippedLine {
  std::int64_t line = 0;
  std::string field;
  std::string reason;
};

// Rows of the file that are no job of a GPU cluster (never started, without GPU, a step of a job ...): no error, but
// counted by reason.
struct OtherRows {
  std::string reason;
  std::uint64_t count = 0;
};

struct Trace {
  std::string path;
  std::string format;  // the reader's name
  std::vector<Row> rows;
  profile::NameTable names;
  std::vector<profile::Attributes> attributes;
  std::vector<profile::Deadline> deadlines;  // what Attributes::deadlines counts in
  std::vector<std::uint32_t> gpu_models;     // names; what Attributes::gpu_models counts in
  std::vector<std::string> text_ids;         // by row, only where some id is not a whole number; else empty
  std::uint64_t skipped_lines = 0;
  std::vector<SkippedLine> skipped;          // the first ten
  std::vector<OtherRows> other_rows;         // in the order in which the reasons were met
  std::uint64_t declared_gpus = 0;           // capacity that the file states (SWF MaxProcs), 0 = none
  std::vector<std::string> ignored_columns;  // columns of the file that no field of a Row holds

  [[nodiscard]] double gpu_hours() const;
};

// Jobs whose run time the file doesn't have: derived by the format's rule, or not known at all. By basis, most first.
[[nodiscard]] std::vector<OtherRows> duration_bases(const Trace& trace);
// kInput where the run time of some job isn't known: such a trace can be looked at and placed, not replayed.
[[nodiscard]] Status need_durations(const Trace& trace);

}  // namespace comity::trace
