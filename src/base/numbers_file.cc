// SPDX-License-Identifier: Apache-2.0
#include "base/numbers_file.h"

#include <fmt/format.h>

#include "base/text.h"

namespace comity {
namespace {

tl::unexpected<Error> refuse(const LineReader& reader, std::int64_t line, std::string message) {
  return fail(Error{.code = Code::kInput,
                    .message = std::move(message),
                    .file = reader.name(),
                    .line = line,
                    .field = {},
                    .hint = "one number a line",
                    .cause = {}});
}

}  // namespace

Result<std::vector<double>> read_numbers(LineReader& reader) {
  std::vector<double> numbers;
  bool first = true;
  for (;;) {
    auto line = reader.next();
    if (!line) return fail(line.error());
    if (line->at_end) break;
    const std::string_view text = trim(line->text);
    if (text.empty()) continue;
    const auto number = parse_double(text);
    if (!number && !first) return refuse(reader, line->number, fmt::format("'{}' is not a number", printable(text)));
    first = false;
    if (!number) continue;
    if (numbers.size() == kMostNumbers)
      return refuse(reader, line->number, fmt::format("more than {} numbers", kMostNumbers));
    numbers.push_back(*number);
  }
  if (numbers.empty()) return refuse(reader, 0, "no number in the file");
  return numbers;
}

Result<std::vector<double>> read_numbers(const std::string& path) {
  auto source = open_source(path);
  if (!source) return fail(source.error());
  LineReader reader(std::move(*source), path);
  return read_numbers(reader);
}

}  // namespace comity
