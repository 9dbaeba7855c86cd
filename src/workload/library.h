// SPDX-License-Identifier: Apache-2.0
// The files of data/ that belong to workload, as they stand in the program.
#pragma once

#include <span>

#include "base/library_file.h"

namespace comity::workload {

[[nodiscard]] std::span<const LibraryFile> library_models();  // sorted by name
[[nodiscard]] std::span<const LibraryFile> library_systems();
[[nodiscard]] std::span<const LibraryFile> library_measured();  // data/measured/

}  // namespace comity::workload
