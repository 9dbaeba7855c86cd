// SPDX-License-Identifier: Apache-2.0
// Logs and progress go to standard error; results go to standard output. Progress is drawn on a terminal only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace comity {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
void set_log_level(LogLevel level);
void log_debug(std::string_view text);
void log_info(std::string_view text);
void log_warning(std::string_view text);
void log_error(std::string_view text);

// True after Ctrl-C (SIGINT or SIGTERM) once install_interrupt_handler() was called; a second signal ends the process.
void install_interrupt_handler();
[[nodiscard]] bool interrupted();

// One line "label  42 %  1.2 M jobs/s  3 s left", redrawn at most ten times a second; silent when stderr is no
// terminal or `quiet`. update() is cheap enough to be called every few thousand items.
class Progress {
 public:
  Progress(std::string label, std::string unit, std::uint64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::uint64_t done);

 private:
  std::string label_;
  std::string unit_;
  std::uint64_t total_;
  bool draw_;
  bool drawn_ = false;
  std::int64_t begin_ns_;
  std::int64_t last_ns_;
};

// The text of that line after `elapsed_ns`; total 0: unknown, the count is shown instead.
[[nodiscard]] std::string progress_text(std::string_view label, std::string_view unit, std::uint64_t done,
                                        std::uint64_t total, std::int64_t elapsed_ns);

[[nodiscard]] bool is_terminal(int fd);
// Steady clock, ns; for wall_s and progress only. Simulated time never comes from here.
[[nodiscard]] std::int64_t steady_ns();
[[nodiscard]] std::uint64_t peak_rss_bytes();

}  // namespace comity
