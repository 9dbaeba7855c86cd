// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/input.h"
#include "base/limits.h"

// Any bytes, packed or not, end in lines or in one Error that stays. A small packed input may become many lines: the
// first ones are enough.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  comity::Result<std::unique_ptr<comity::ByteSource>> source = comity::memory_source(bytes);
  if (!source) return 0;
  comity::LineReader reader(std::move(*source), "fuzz");
  const comity::Result<std::string> head = reader.peek(size % 5);
  for (std::int64_t expected = 1; expected < 2000; ++expected) {
    const comity::Result<comity::LineReader::Line> line = reader.next();
    if (!line) {
      const comity::Result<comity::LineReader::Line> again = reader.next();
      COMITY_CHECK(!again && again.error().text() == line.error().text() && line.error().line == expected);
      return 0;
    }
    if (line->at_end) return 0;
    COMITY_CHECK(line->number == expected && line->text.size() <= comity::limits::kLineBytes);
    COMITY_CHECK(line->text.find('\0') == std::string_view::npos && line->text.find('\n') == std::string_view::npos);
    if (expected == 1 && head && size % 5 > 0) {
      const std::size_t common = std::min(head->size(), line->text.size());
      COMITY_CHECK(head->substr(0, common) == line->text.substr(0, common));
    }
  }
  return 0;
}
