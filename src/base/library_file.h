// SPDX-License-Identifier: Apache-2.0
// A file of data/ as it stands in the program: cmake/Embed.cmake writes them into a source file of the build folder.
#pragma once

#include <string_view>

namespace comity {

struct LibraryFile {
  std::string_view name;  // of the file, without .toml
  std::string_view text;
};

}  // namespace comity
