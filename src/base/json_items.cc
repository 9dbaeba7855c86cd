// SPDX-License-Identifier: Apache-2.0
#include "base/json_items.h"

#include <utility>

#include <fmt/format.h>

#include "base/compressed_source.h"
#include "base/limits.h"
#include "base/text.h"

namespace comity {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr const char* kCheckWhole = "check that the file is whole";

}  // namespace

JsonItems::JsonItems(LineReader& reader, std::string_view member) : reader_(&reader), member_(member) {}

bool JsonItems::refuse(std::string message, std::string hint) {
  if (failed_) return false;
  failed_ = true;
  error_ = input_error(reader_->name(), std::move(message), {}, std::move(hint));
  error_.line = line_;
  return false;
}

bool JsonItems::refill() {
  if (failed_) return false;
  const Result<std::string_view> more = reader_->next_bytes();
  if (!more) {
    failed_ = true;
    error_ = more.error();
    if (error_.line == 0) error_.line = line_;
    return false;
  }
  bytes_ = *more;
  return !bytes_.empty();
}

char JsonItems::look() {
  for (;;) {
    while (!bytes_.empty() && is_blank(bytes_.front())) {
      line_ += bytes_.front() == '\n' ? 1 : 0;
      bytes_.remove_prefix(1);
    }
    if (!bytes_.empty()) {
      if (bytes_.front() == '\0') (void)refuse("a NUL byte: this is not JSON", "check that this is the right file");
      return bytes_.front();
    }
    if (!refill()) return '\0';
  }
}

bool JsonItems::expect(char c, const char* where) {
  const char found = look();
  if (failed_) return false;
  if (found == '\0') return refuse(fmt::format("the document ends {}", where), kCheckWhole);
  if (found != c)
    return refuse(fmt::format("'{}' stands {}, where '{}' is due", printable(std::string_view(&found, 1)), where, c));
  bytes_.remove_prefix(1);
  return true;
}

bool JsonItems::nest(char c) {
  if (c == '{' || c == '[') {
    if (depth_ == limits::kDocumentDepth) return refuse("is nested more than 64 levels deep");
    objects_ = objects_ << 1 | (c == '{' ? 1U : 0U);
    ++depth_;
    return true;
  }
  if ((objects_ & 1) != (c == '}' ? 1U : 0U)) return refuse(fmt::format("'{}' closes what it did not open", c));
  objects_ >>= 1;
  --depth_;
  return true;
}

// An object or an array; the first byte is its bracket.
bool JsonItems::structure(std::string* out) {
  const int outside = depth_;
  for (;;) {
    std::size_t at = 0;
    for (; at < bytes_.size(); ++at) {
      const char c = bytes_[at];
      if (in_string_) {
        if (escaped_)
          escaped_ = false;
        else if (c == '\\')
          escaped_ = true;
        else if (c == '"')
          in_string_ = false;
        continue;
      }
      if (c == '"') in_string_ = true;
      if (c == '\n') ++line_;
      if (c != '{' && c != '[' && c != '}' && c != ']') continue;
      if (!nest(c)) return false;
      if (depth_ == outside) break;
    }
    const bool whole = at < bytes_.size();
    const std::string_view part = bytes_.substr(0, at + (whole ? 1 : 0));
    if (out != nullptr && out->size() + part.size() > limits::kDocumentBytes)
      return refuse("an item is larger than 64 MiB");
    if (out != nullptr) out->append(part);
    bytes_.remove_prefix(part.size());
    if (whole) return true;
    if (!refill()) return refuse("the document ends inside of a value", kCheckWhole);
  }
}

// A string, a number or a word, read up to what ends it.
bool JsonItems::scalar(std::string* out) {
  const bool text = bytes_.front() == '"';
  in_string_ = false;
  std::size_t length = 0;
  for (;;) {
    if (bytes_.empty() && !refill()) {
      if (failed_ || text) return refuse("the document ends inside of a value", kCheckWhole);
      return true;
    }
    const char c = bytes_.front();
    const bool inside = in_string_ || escaped_;
    if (!inside && length > 0 && (text || is_blank(c) || c == ',' || c == ']' || c == '}' || c == ':')) return true;
    if (escaped_)
      escaped_ = false;
    else if (in_string_ && c == '\\')
      escaped_ = true;
    else if (c == '"')
      in_string_ = !in_string_;
    if (++length > limits::kDocumentBytes) return refuse("a value is larger than 64 MiB");
    if (out != nullptr) *out += c;
    bytes_.remove_prefix(1);
  }
}

bool JsonItems::value(std::string* out) {
  const char c = look();
  if (failed_) return false;
  if (c == '\0') return refuse("the document ends where a value is due", kCheckWhole);
  if (c == '{' || c == '[') return structure(out);
  if (c == ',' || c == ':' || c == '}' || c == ']') return refuse(fmt::format("'{}' stands where a value is due", c));
  return scalar(out);
}

bool JsonItems::find_member() {
  const std::string wanted = '"' + member_ + '"';
  for (;;) {
    if (look() != '"') return expect('"', "in place of a member's name");
    std::string key;
    if (!value(&key) || !expect(':', "behind a member's name")) return false;
    if (key == wanted) return expect('[', fmt::format("behind {}", wanted).c_str());
    if (!value(nullptr)) return false;
    if (look() == '}')
      return refuse(fmt::format("the document has no array {}", wanted), "check that it is the right file");
    if (!expect(',', "behind a member")) return false;
  }
}

bool JsonItems::find_array() {
  if (member_.empty()) return expect('[', "at the beginning of the document");
  return expect('{', "at the beginning of the document") && find_member();
}

bool JsonItems::pass_rest() {
  while (!member_.empty()) {
    if (look() == '}') {
      bytes_.remove_prefix(1);
      break;
    }
    if (!expect(',', "behind a member") || look() != '"') return expect('"', "in place of a member's name");
    if (!value(nullptr) || !expect(':', "behind a member's name") || !value(nullptr)) return false;
  }
  if (look() != '\0') return refuse("the document goes on behind its end");
  return !failed_;
}

Result<JsonItems::Item> JsonItems::next() {
  const Item end = {.text = {}, .line = line_, .at_end = true};
  if (failed_) return fail(error_);
  if (place_ == Place::kEnd) return end;
  if (place_ == Place::kStart && !find_array()) return fail(error_);
  const bool first = place_ == Place::kStart;
  const char c = look();
  if (c == ']') {
    bytes_.remove_prefix(1);
    place_ = Place::kEnd;
    if (!pass_rest()) return fail(error_);
    return end;
  }
  if (!first && !expect(',', "behind an item")) return fail(error_);
  (void)look();
  const std::int64_t begin = line_;
  item_.clear();
  if (!value(&item_)) return fail(error_);
  place_ = Place::kBehindItem;
  return Item{.text = item_, .line = begin, .at_end = false};
}

}  // namespace comity
