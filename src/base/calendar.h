// SPDX-License-Identifier: Apache-2.0
// Dates of the Gregorian calendar as text (ISO 8601 / RFC 3339) to ns since 1970-01-01 00:00 UTC.
//
// Most logs write local time and no zone. Such stamps are taken as they stand, as if they were UTC: what lies between
// two of them is right except across a change to or from daylight saving time, where it is one hour off.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"

namespace comity {

// "2024-05-01T12:00:00", with ' ' for 'T', a fraction of a second, and a zone ("Z", "+02:00", "-0730") where there is
// one. From 1970 on and within kMaxTime (2043); nothing otherwise, or where it is no date (2023-02-29) or hour.
[[nodiscard]] std::optional<Time> parse_date_time(std::string_view text);

// Days from 1970-01-01 to the date; month 1..12, day from 1. Valid for years 1..9999.
[[nodiscard]] std::int64_t days_from_epoch(int year, int month, int day);

}  // namespace comity
