// SPDX-License-Identifier: Apache-2.0
// Parameters of policies, declared in one call each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/params.h"

namespace comity::sched {

[[nodiscard]] inline Param make_param(std::string name, Param::Type type, std::string unit, std::string fallback,
                                      double low, double high, std::string doc) {
  Param p;
  p.name = std::move(name);
  p.type = type;
  p.unit = std::move(unit);
  p.fallback = std::move(fallback);
  p.low = low;
  p.high = high;
  p.doc = std::move(doc);
  return p;
}
// The first choice is the default.
[[nodiscard]] inline Param make_choice(std::string name, std::vector<std::string> choices, std::string doc) {
  Param p;
  p.name = std::move(name);
  p.type = Param::Type::kChoice;
  p.fallback = choices.front();
  p.choices = std::move(choices);
  p.doc = std::move(doc);
  return p;
}

}  // namespace comity::sched
