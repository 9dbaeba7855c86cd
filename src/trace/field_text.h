// SPDX-License-Identifier: Apache-2.0
// One field of a line into a Record: the rules about numbers, times and names that all separated formats share.
#pragma once

#include <string_view>

#include "trace/record.h"

namespace comity::trace {

// A whole number of at most 18 digits without sign. False when the field isn't taken this way (names, fractions, too
// large): store_text() then decides.
[[nodiscard]] inline bool store_whole(Field field, std::int64_t value, Record& record) {
  switch (field) {
    case Field::kId:
      record.id = value;
      record.id_kind = Record::Id::kNumber;
      return true;
    case Field::kSubmit:
      if (value > kMaxTime / kSecond) return false;
      record.submit = value * kSecond;
      return true;
    case Field::kDuration:
      if (value > kMaxTime / kSecond) return false;
      record.duration = value * kSecond;
      return true;
    case Field::kGpus: record.gpus = value; return value > 0;
    case Field::kIgnored: return true;
    default: return false;
  }
}

// Any text. Blanks around it don't count. Empty text means "not given" and is bad for id (a column of ids has one a
// job), submit, duration. A number that must be whole may be written "4.0". -1 in an optional field means unknown.
// False: `problem.message` says why; the caller knows the column's title.
[[nodiscard]] bool store_text(Field field, std::string_view text, Record& record, Problem& problem);

}  // namespace comity::trace
