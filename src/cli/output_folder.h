// SPDX-License-Identifier: Apache-2.0
// --out DIR: the folder is made if need be; each file appears whole or not at all.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace comity::cli {

// {file name, content}. Errors (kInput) name the folder or file.
[[nodiscard]] Status write_folder(const std::string& dir,
                                  const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace comity::cli
