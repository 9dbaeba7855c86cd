// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <atomic>
#include <cstddef>
#include <string>

#include "base/log_line.h"
#include "base/text.h"

namespace comity {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024;  // of a line

std::atomic<LogLevel> g_level{LogLevel::kInfo};

void write_log(LogLevel level, std::string_view kind, std::string_view text) {
  if (level < g_level.load(std::memory_order_relaxed)) return;
  // File and job names come from outside and must not steer the terminal.
  write_log_line(std::string("comity: ").append(kind).append(printable(text, kMostBytes)).append("\n"));
}

}  // namespace

void set_log_level(LogLevel level) { g_level = level; }
void log_debug(std::string_view text) { write_log(LogLevel::kDebug, "debug: ", text); }
void log_info(std::string_view text) { write_log(LogLevel::kInfo, "", text); }
void log_warning(std::string_view text) { write_log(LogLevel::kWarning, "warning: ", text); }
void log_error(std::string_view text) { write_log(LogLevel::kError, "error: ", text); }

}  // namespace comity
