// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/log_line.h"
#include "base/text.h"
#include "base/units.h"

namespace comity {
namespace {

constexpr std::string_view kWipe = "\r\x1b[K";

std::mutex g_mutex;
bool g_drawn = false;  // guarded by g_mutex

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

// "1.2 M", "340": three figures and a prefix.
std::string scaled(double v) {
  static constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  while (v >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    v /= 1000;
    ++prefix;
  }
  return format_double(v, prefix > 0 && v < 99.95 ? 1 : 0) + kPrefixes[prefix];
}

}  // namespace

void write_log_line(std::string_view line) {
  const std::lock_guard lock(g_mutex);
  if (g_drawn) write_stderr(kWipe);
  g_drawn = false;
  write_stderr(line);
}

void draw_progress_line(std::string_view line) {
  const std::lock_guard lock(g_mutex);
  if (line.empty() && !g_drawn) return;
  write_stderr(std::string(kWipe).append(line));
  g_drawn = !line.empty();
}

std::string progress_text(std::string_view label, std::string_view unit, std::uint64_t done, std::uint64_t total,
                          std::int64_t elapsed_ns) {
  const double seconds = std::max(to_seconds(elapsed_ns), 1e-9);
  const double rate = static_cast<double>(done) / seconds;
  std::string out(label);
  if (total > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    out += "  " + format_double(100 * share, 0) + " %";
  } else {
    out += "  " + scaled(static_cast<double>(done)) + ' ';
    out += unit;
  }
  out += "  " + scaled(rate) + ' ';
  out.append(unit).append("/s");
  if (total > done && done > 0) {
    const double left = std::min(static_cast<double>(total - done) / rate, to_seconds(kMaxTime));
    out += "  " + format_length(std::max(kSecond, from_seconds(left) / kSecond * kSecond)) + " left";
  }
  return out;
}

Progress::Progress(std::string label, std::string unit, std::uint64_t total, bool quiet)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      draw_(!quiet && is_terminal(STDERR_FILENO)),
      begin_ns_(steady_ns()),
      last_ns_(begin_ns_) {}

Progress::~Progress() {
  if (drawn_) draw_progress_line({});
}

void Progress::update(std::uint64_t done) {
  if (!draw_) return;
  const std::int64_t now = steady_ns();
  if (now - last_ns_ < 100 * kMillisecond) return;
  last_ns_ = now;
  drawn_ = true;
  draw_progress_line(progress_text(label_, unit_, done, total_, now - begin_ns_));
}

}  // namespace comity
