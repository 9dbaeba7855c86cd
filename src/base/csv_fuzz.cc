// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/csv.h"
#include "base/limits.h"

// What can be split is written and split again to the same fields.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> fields;
  std::string scratch;
  if (!comity::split_csv(line, ',', fields, scratch)) return 0;
  COMITY_CHECK(!fields.empty() && fields.size() <= comity::limits::kFields);
  std::string again;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) again += ',';
    comity::append_csv(again, fields[i]);
  }
  std::vector<std::string_view> second;
  std::string second_scratch;
  const bool split = comity::split_csv(again, ',', second, second_scratch);
  COMITY_CHECK(split && second == fields);
  return 0;
}
