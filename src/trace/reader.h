// SPDX-License-Identifier: Apache-2.0
// Job traces in. The format is recognised from the first lines, or named; a user's own file is read by saying which
// columns to take. Compressed files and standard input are read like plain ones.
//
// A line that is no job (a missing or negative number, no GPU, a repeated id, more than the limits of base/limits.h)
// ends the reading with an error that names line and field, unless bad lines are to be skipped: then they are counted
// and the first ten kept. Time: O(bytes), about 0.1 us a job. Memory: the trace.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/input.h"
#include "base/result.h"
#include "trace/trace.h"

namespace comity::trace {

struct ReadOptions {
  std::string format{};   // name of a format; empty = recognise it
  bool skip_bad = false;  // count bad lines and go on
  std::string columns{};  // "submit=a,duration=b,gpus=c[,...]": read these columns, whatever the format
  bool quiet = true;      // no progress on standard error
};

// `path` "-" is standard input. Errors: kInput with file and line; kUsage for an unknown format or wrong `columns`.
[[nodiscard]] Result<Trace> read_trace(const std::string& path, const ReadOptions& options);
// The same from any bytes; `name` stands for the file in messages.
[[nodiscard]] Result<Trace> read_trace_from(std::unique_ptr<ByteSource> source, std::string name,
                                            const ReadOptions& options);

}  // namespace comity::trace
