// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/limits.h"

namespace comity {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
constexpr std::uint64_t kLow7 = 0x7f7f7f7f7f7f7f7fULL;

// The high bit of every byte of `word` that is zero, exactly (no borrow into the neighbour).
std::uint64_t zero_bytes(std::uint64_t word) { return ~(((word & kLow7) + kLow7) | word | kLow7); }

// No quote in the line: eight bytes a step, then one step a separator. Fields are short, so a call to memchr for each
// would cost more than the search.
bool split_plain(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  const char* const data = line.data();
  const std::uint64_t pattern = kOnes * static_cast<unsigned char>(separator);
  std::size_t begin = 0;
  std::size_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + 8 <= line.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, data + at, 8);
      for (std::uint64_t hits = zero_bytes(word ^ pattern); hits != 0; hits &= hits - 1) {
        const std::size_t end = at + (static_cast<std::size_t>(std::countr_zero(hits)) >> 3);
        fields.emplace_back(data + begin, end - begin);
        begin = end + 1;
      }
      if (fields.size() >= limits::kFields) return false;
    }
  }
  for (; at < line.size(); ++at) {
    if (data[at] != separator) continue;
    fields.emplace_back(data + begin, at - begin);
    begin = at + 1;
  }
  fields.emplace_back(data + begin, line.size() - begin);
  return fields.size() <= limits::kFields;
}

// The quoted field that begins after the quote at line[at - 1]. Leaves `at` behind the closing quote; false when
// there is none. `scratch` has room for the whole line, so views into it stay valid.
bool read_quoted(std::string_view line, std::size_t& at, std::string& scratch, std::string_view& field) {
  const std::size_t begin = at;
  const std::size_t scratch_begin = scratch.size();
  bool doubled = false;
  for (std::size_t from = begin;;) {
    const std::size_t quote = line.find('"', from);
    if (quote == std::string_view::npos) return false;
    at = quote + 1;
    if (at == line.size() || line[at] != '"') {
      if (doubled) scratch.append(line.substr(from, quote - from));
      field = doubled ? std::string_view(scratch).substr(scratch_begin) : line.substr(begin, quote - begin);
      return true;
    }
    scratch.append(line.substr(from, at - from));  // up to and with one of the two quotes
    doubled = true;
    from = ++at;
  }
}

bool split_quoted(std::string_view line, char separator, std::vector<std::string_view>& fields, std::string& scratch) {
  scratch.clear();
  scratch.reserve(line.size());
  for (std::size_t at = 0;;) {
    if (fields.size() == limits::kFields) return false;
    std::string_view field;
    if (at < line.size() && line[at] == '"') {
      ++at;
      if (!read_quoted(line, at, scratch, field)) return false;
      if (at < line.size() && line[at] != separator) return false;
    } else {
      const std::size_t end = std::min(line.find(separator, at), line.size());
      field = line.substr(at, end - at);
      at = end;
    }
    fields.push_back(field);
    if (at == line.size()) return true;
    ++at;
  }
}

}  // namespace

bool split_csv(std::string_view line, char separator, std::vector<std::string_view>& fields, std::string& scratch) {
  fields.clear();
  const bool quoted = !line.empty() && std::memchr(line.data(), '"', line.size()) != nullptr;
  return quoted ? split_quoted(line, separator, fields, scratch) : split_plain(line, separator, fields);
}

void append_csv(std::string& out, std::string_view field, char separator) {
  bool quote = false;
  for (const char c : field) {
    quote = quote || c == separator || c == '"' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  }
  if (!quote) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace comity
