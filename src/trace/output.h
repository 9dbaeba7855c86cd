// SPDX-License-Identifier: Apache-2.0
// Text to a file or to standard output, a buffer at a time. A file is written under a temporary name beside the wanted
// one and renamed by finish(): readers never see half of it. Without finish() nothing is left behind. What exists and
// is no regular file (a pipe, a device) is written to directly. A path that ends in .gz or .zst is compressed. Ctrl-C
// ends the writing with kInterrupted.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/compressor.h"
#include "base/result.h"

namespace comity::trace {

class Output {
 public:
  // `path` "-" is standard output. Errors (kInput) name the path.
  [[nodiscard]] static Result<Output> open(const std::string& path);
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  // Append to this; flush_if_full() passes it on once it holds 256 KiB.
  std::string text;
  [[nodiscard]] Status flush_if_full() { return text.size() < kBufferBytes ? Status() : flush(false); }
  // Call it last, and once.
  [[nodiscard]] Status finish();

 private:
  static constexpr std::size_t kBufferBytes = 256 * 1024;
  Output() = default;
  [[nodiscard]] Status flush(bool last);
  [[nodiscard]] Status failed(int code) const;

  std::FILE* file_ = nullptr;
  std::string path_;
  std::string temporary_;                   // empty: standard output, or written to directly
  std::unique_ptr<Compressor> compressor_;  // as the end of the path asks for
  std::string packed_;
};

}  // namespace comity::trace
