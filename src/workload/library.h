// SPDX-License-Identifier: Apache-2.0
// The files of data/models/ and data/systems/ as they stand in the program: cmake/Embed.cmake writes them into a source
// file of the build folder.
#pragma once

#include <span>
#include <string_view>

namespace comity::workload {

struct LibraryFile {
  std::string_view name;  // of the file, without .toml
  std::string_view text;
};

[[nodiscard]] std::span<const LibraryFile> library_models();  // sorted by name
[[nodiscard]] std::span<const LibraryFile> library_systems();
[[nodiscard]] std::span<const LibraryFile> library_measured();  // data/measured/

}  // namespace comity::workload
