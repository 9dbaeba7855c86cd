// SPDX-License-Identifier: Apache-2.0
// Decompressing sources and the error they share. Not for use outside base/: open_source() chooses.
#pragma once

#include <memory>
#include <string>

#include "base/input.h"

namespace comity {

// gzip of one or more members (RFC 1952); zero bytes behind the last member are padding.
[[nodiscard]] std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> packed, std::string name);
// Zstandard of one or more frames (RFC 8878), window at most 128 MiB.
[[nodiscard]] std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<ByteSource> packed, std::string name);

[[nodiscard]] Error input_error(const std::string& file, std::string message, std::string cause = {},
                                std::string hint = {});

}  // namespace comity
