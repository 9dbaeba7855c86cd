// SPDX-License-Identifier: Apache-2.0
// Compression of what is written, a piece at a time. The same bytes go in, the same come out: no time and no name is
// stored.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace comity {

class Compressor {
 public:
  virtual ~Compressor() = default;
  // Appends to `out` what is ready after these bytes; with `last` everything, and the end. Memory: a few hundred KiB.
  virtual void add(std::string_view bytes, bool last, std::string& out) = 0;
};

// The one that the end of the path asks for: gzip for .gz, Zstandard for .zst; none for any other.
[[nodiscard]] std::unique_ptr<Compressor> compressor_for(std::string_view path);

}  // namespace comity
