// SPDX-License-Identifier: Apache-2.0
// The Error of a file that cannot be used.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"

namespace comity::workload {

struct Place {
  std::string file;
  std::int64_t line = 0;
  std::string field;
};

[[nodiscard]] inline tl::unexpected<Error> refuse(Place place, std::string message, std::string hint = {}) {
  return fail(Error{.code = Code::kInput,
                    .message = std::move(message),
                    .file = std::move(place.file),
                    .line = place.line,
                    .field = std::move(place.field),
                    .hint = std::move(hint),
                    .cause = {}});
}

}  // namespace comity::workload
