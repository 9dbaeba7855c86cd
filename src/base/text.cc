// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "base/utf8.h"

namespace comity {

std::string_view trim(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = s.find(separator);
    parts.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + 1);
  }
}

namespace {

// Edit distance in which swapping two neighbours counts as one error (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 256;  // bounds the work on hostile input; no name is longer
  if (name.empty() || name.size() > kLongest) return {};
  const std::size_t allowed = std::clamp<std::size_t>(name.size() / 3, 1, 3);
  std::string best;
  std::size_t best_distance = allowed + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t dot = candidate.rfind('.');
    if (dot != std::string::npos && std::string_view(candidate).substr(dot + 1) == name) return candidate;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string format_count(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string hex64(std::uint64_t v) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; v >>= 4) out[i] = "0123456789abcdef"[v & 15U];
  return out;
}

namespace {

// What can move the cursor, change colours or reorder text: C0, DEL, C1 and the bidirectional controls.
bool is_hostile(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

}  // namespace

std::string printable(std::string_view s, std::size_t limit) {
  std::string out;
  std::size_t fits = 0;  // size of `out` that still leaves room for "..."
  for (std::size_t at = 0; at < s.size();) {
    const CodePoint point = decode_utf8(s, at);
    const std::size_t bytes = std::max<std::size_t>(point.bytes, 1);
    const bool escape = point.bytes == 0 || is_hostile(point.value);
    if (out.size() + (escape ? 4 * bytes : bytes) > limit) {
      out.resize(fits);
      return out.append(limit >= 3 ? "..." : "");
    }
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto c = static_cast<unsigned char>(s[at + i]);
      if (!escape) {
        out += s[at + i];
      } else {
        out.append({'\\', 'x', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15U]});
      }
    }
    if (out.size() + 3 <= limit) fits = out.size();
    at += bytes;
  }
  return out;
}

}  // namespace comity
