// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/utf8.h"

namespace comity {
namespace {

void append_escape(std::string& out, unsigned char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  out += "\\u00";
  out += "0123456789abcdef"[c >> 4];
  out += "0123456789abcdef"[c & 15U];
}

void append_string(std::string& out, std::string_view v) {
  out += '"';
  for (std::size_t at = 0; at < v.size();) {
    const auto c = static_cast<unsigned char>(v[at]);
    if (c < 0x80) {
      if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
        out += v[at];
      else
        append_escape(out, c);
      ++at;
      continue;
    }
    const CodePoint point = decode_utf8(v, at);
    out += point.bytes == 0 ? std::string_view("\xef\xbf\xbd") : v.substr(at, point.bytes);
    at += point.bytes == 0 ? 1 : point.bytes;
  }
  out += '"';
}

template <class T>
void append_number(std::string& out, T v) {
  std::array<char, 32> buffer{};  // the longest: -2.2250738585072014e-308
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  out.append(buffer.data(), end);
}

}  // namespace

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (first_.empty()) return;
  if (!first_.back()) out_ += ',';
  first_.back() = false;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_ += '{';
  first_.push_back(true);
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  COMITY_CHECK(!first_.empty() && !after_key_);
  out_ += '}';
  first_.pop_back();
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  out_ += '[';
  first_.push_back(true);
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  COMITY_CHECK(!first_.empty() && !after_key_);
  out_ += ']';
  first_.pop_back();
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  COMITY_CHECK(!first_.empty() && !after_key_);
  separate();
  append_string(out_, name);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view v) {
  separate();
  append_string(out_, v);
  return *this;
}

JsonWriter& JsonWriter::number(double v) {
  if (!std::isfinite(v)) return null();
  separate();
  append_number(out_, v);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t v) {
  separate();
  append_number(out_, v);
  return *this;
}

JsonWriter& JsonWriter::unsigned_integer(std::uint64_t v) {
  separate();
  append_number(out_, v);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool v) { return raw(v ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace comity
