// SPDX-License-Identifier: Apache-2.0
// A trace whose names can be given away: each name of the chosen fields becomes the pseudonym that a key gives it (see
// trace/key.h). The same name of the same field has the same pseudonym under the same key, in any file, so that files
// can still be joined; without the key, or under another, nothing joins. What remains visible, and what can be
// concluded from it, is in docs/systems/anonymise.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/key.h"
#include "trace/record.h"
#include "trace/trace.h"

namespace comity::trace {

// Ids become row numbers, pseudonyms, or stay. Pseudonyms can be joined with other files, but no longer order the jobs
// of one instant: the rows do (replay --ties file).
enum class Ids { kNumber, kHash, kKeep };

struct AnonymiseOptions {
  std::vector<Field> hash = {Field::kUser, Field::kTenant, Field::kName};
  Ids ids = Ids::kNumber;
  // Taken away altogether; a command line and a folder say too much of who runs what.
  std::vector<Field> drop = {Field::kCommand, Field::kDirectory};
  bool shift_time = false;   // submits + a number of seconds below ten years that the key determines
  bool whole_weeks = false;  // that number is whole weeks, so that weekday and hour stay
  Time round_submit = 0;     // submits down to a multiple of this; 0 = as they are
  Time round_duration = 0;   // run times, estimates and waits up to a multiple of this; 0 = as they are
};
struct Anonymised {
  Trace trace;
  std::vector<std::string> hashed;  // fields that were hashed and that the trace has
  std::vector<std::string> dropped;
  std::vector<std::string> kept;  // text that can still be read, and what the log measured
};

// Fields by name, separated by commas: user, tenant, group, gpu_type (and GPU models), name, model, dataset, command,
// directory, and "all" for all of these; where `drop` also class, status, estimate, wait, batch_size, iterations,
// gpu_utilization, memory, memory_utilization, speed, mixed_precision, gpu_milli, gpu_models, cpu_milli, host_memory,
// deadlines, priority, share. kUsage for another, naming `option` and the nearest name.
[[nodiscard]] Result<std::vector<Field>> parse_fields(std::string_view text, bool drop, const std::string& option);

// Unless ids stay, the rows of the result are in order of submission, those of one instant by their old ids as a replay
// takes them: numbered, they are replayed in the same order. O(jobs log jobs).
// Errors: kUsage for a field both hashed and dropped; kInput where a time would pass kMaxTime.
[[nodiscard]] Result<Anonymised> anonymise(const Trace& trace, const Key& key, const AnonymiseOptions& options);

}  // namespace comity::trace
