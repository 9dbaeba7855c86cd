// SPDX-License-Identifier: Apache-2.0
// Cuts a JSON document (RFC 8259) into the items of its array, one at a time: a log of gigabytes needs the memory of
// its largest item. The array is the document, or a member of the object that the document is.
//
// Only the frame is read here: brackets, strings, commas between items. What is inside of an item is for the parser of
// items; what stands beside the array in the document is passed over, its brackets checked. Bounds:
// limits::kDocumentBytes an item, limits::kDocumentDepth levels. Time: O(bytes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/input.h"
#include "base/result.h"

namespace comity {

class JsonItems {
 public:
  // `member` is a key without characters that JSON escapes; "" = the document is the array. `reader` outlives this.
  JsonItems(LineReader& reader, std::string_view member);

  struct Item {
    std::string_view text;  // valid until the next call
    std::int64_t line = 0;  // where it begins, from 1
    bool at_end = false;
  };
  // Errors (kInput) name file and line: no such array, a document that is cut off or goes on behind its end, brackets
  // that do not match, an item or nesting over the bounds. After an Error every call returns that Error.
  [[nodiscard]] Result<Item> next();
  [[nodiscard]] std::int64_t line() const { return line_; }

 private:
  enum class Place : std::uint8_t { kStart, kBehindItem, kEnd };

  bool refill();                 // more bytes; false at the end of the input or after a failure
  char look();                   // the next byte that is no blank, not consumed; NUL at the end
  bool find_array();             // consumes up to and including the array's '['
  bool find_member();            // from inside of the object, before a key
  bool pass_rest();              // from behind the array to the end of the input
  bool value(std::string* out);  // consumes a value; appends its text where `out` is not null
  bool scalar(std::string* out);
  bool structure(std::string* out);
  bool nest(char c);  // a bracket or brace outside of strings
  bool refuse(std::string message, std::string hint = {});
  bool expect(char c, const char* where);

  LineReader* reader_;
  std::string member_;
  std::string item_;
  std::string_view bytes_;  // not consumed
  Error error_;
  std::uint64_t objects_ = 0;  // a bit a level, 1 = object; the innermost is the lowest
  std::int64_t line_ = 1;
  int depth_ = 0;
  Place place_ = Place::kStart;
  bool in_string_ = false;
  bool escaped_ = false;
  bool failed_ = false;
};

}  // namespace comity
