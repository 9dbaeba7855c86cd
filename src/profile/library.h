// SPDX-License-Identifier: Apache-2.0
// The files of data/ that belong to profile, as they stand in the program.
#pragma once

#include <span>

#include "base/library_file.h"

namespace comity::profile {

[[nodiscard]] std::span<const LibraryFile> library_layers();  // sorted by name
[[nodiscard]] std::span<const LibraryFile> library_splits();
[[nodiscard]] std::span<const LibraryFile> library_throughput();

}  // namespace comity::profile
