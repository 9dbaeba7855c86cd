// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

namespace comity {

std::string Error::text() const {
  std::string out;
  if (!file.empty()) {
    out += file;
    if (line > 0) out += ':' + std::to_string(line);
    out += ": ";
  } else if (line > 0) {
    out += "line " + std::to_string(line) + ": ";
  }
  if (!field.empty()) out += field + ": ";
  out += message;
  if (!cause.empty()) out += ": " + cause;
  if (!hint.empty()) out += " (" + hint + ')';
  return out;
}

}  // namespace comity
