// SPDX-License-Identifier: Apache-2.0
// What comity bench says of training steps.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace comity::cli {

struct Measured {
  std::string name;
  double value;
  std::string unit;
  std::string note;
};

// One estimate with nothing shared or cached, of several models; and the search over the whole space.
[[nodiscard]] Status bench_step(std::vector<Measured>& out);

}  // namespace comity::cli
