// SPDX-License-Identifier: Apache-2.0
// COMITY_CHECK stays on in release builds. A failed check is a bug: it names the place and ends the process with
// status 70, which is what keeps a wrong number from being printed.
#pragma once

namespace comity {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}

#define COMITY_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::comity::check_failed(#condition, __FILE__, __LINE__))
