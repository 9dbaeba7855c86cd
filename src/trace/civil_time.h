// SPDX-License-Identifier: Apache-2.0
// Calendar times as logs write them, to the seconds since 1970 of the proleptic Gregorian calendar.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"

namespace comity::trace {

// "2023-03-01 00:18:22", with 'T' instead of the blank, with a fraction, and with a zone "+08:00", "+0800", "-05" or
// "Z". Without a zone the clock is taken as it stands: such times are right among themselves, and the hour of the day
// is the log's own. ns since 1970-01-01 00:00:00; nothing for anything else, for times before 1970 and beyond kMaxTime.
// No leap seconds: second 60 is refused.
[[nodiscard]] std::optional<Time> parse_civil_time(std::string_view text);

}  // namespace comity::trace
