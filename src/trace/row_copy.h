// SPDX-License-Identifier: Apache-2.0
// Rows from one trace into another, whose names may be spelt otherwise there. Each name is looked at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/record.h"
#include "trace/trace.h"

namespace comity::trace {

class RowCopier {
 public:
  // What a name of a field (is_name()) is called in the new trace; "" takes it away. The names of a list of GPU models
  // are names of Field::kGpuType.
  using Rename = std::function<std::string(Field, const std::string&)>;

  // Both traces must outlive the copier. O(lists) a row, and 48 bytes a name of `from`.
  RowCopier(const Trace& from, Trace& to, Rename rename);
  // A copy of `row`, which is of `from`; its names and attributes are in `to`, to whose rows it is not added.
  [[nodiscard]] Row copy(const Row& row);

 private:
  [[nodiscard]] std::uint32_t name(Field field, std::uint32_t index);
  [[nodiscard]] std::uint32_t attributes(std::uint32_t index);

  const Trace* from_;
  Trace* to_;
  Rename rename_;
  std::array<std::vector<std::uint32_t>, kNameFields> names_;  // by index in `from`; kUnknown = not yet looked at
  std::vector<std::uint32_t> attributes_;
};

}  // namespace comity::trace
