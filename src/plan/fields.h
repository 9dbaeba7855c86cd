// SPDX-License-Identifier: Apache-2.0
// What a plan says of itself: named numbers and words with their units, in the order in which they are shown. Tables,
// JSON and pages are made of these elsewhere.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace comity::plan {

struct Field {
  std::string name;  // snake_case, the key in JSON
  std::string unit;  // "" for counts and words
  double value = 0;
  std::string text;  // words instead of a number, when not empty
};

using Fields = std::vector<Field>;
using FieldRows = std::vector<Fields>;  // equal names in each row

[[nodiscard]] inline Field number(std::string name, std::string unit, double value) {
  return {std::move(name), std::move(unit), value, {}};
}
[[nodiscard]] inline Field words(std::string name, std::string text) {
  return {std::move(name), {}, 0, std::move(text)};
}

}  // namespace comity::plan
