// SPDX-License-Identifier: Apache-2.0
// Input from a file, "-" (standard input), gzip or zstd (detected from the first bytes, not the name), read line by
// line with a bound on the length of a line. Memory: about 2 MiB whatever the size of the input (zstd adds the window
// of the file, at most 128 MiB).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace comity {

// A source of bytes. read() fills at most `size` bytes and returns how many, 0 at the end. Errors (kInput) name the
// file: not found, not permitted, a directory, truncated or damaged compressed data, a compression that is not read.
// A read that waits for a pipe ends with kInterrupted on Ctrl-C.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual Result<std::size_t> read(char* data, std::size_t size) = 0;
  // True where damage shows only once it is read: what came before it may be wrong as well.
  [[nodiscard]] virtual bool compressed() const { return false; }
};

// Opens `path`; "-" is standard input.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_source(const std::string& path);
// Bytes already in memory (tests, fuzzing); decompressed like a file. `bytes` must outlive the source.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> memory_source(std::string_view bytes);

class LineReader {
 public:
  LineReader(std::unique_ptr<ByteSource> source, std::string name);

  // The next line without its end (LF or CRLF), valid until the next call. nullptr-data view at the end: check
  // `at_end`. A line over limits::kLineBytes is an Error with its line number (fatal: the rest is not read).
  // A NUL byte in a line is an Error too (binary input). After an Error every call returns that Error. A UTF-8 byte
  // order mark at the very beginning is left out.
  struct Line {
    std::string_view text;
    std::int64_t number = 0;  // 1-based
    bool at_end = false;
  };
  [[nodiscard]] Result<Line> next();
  // Up to `lines` next lines without consuming them (format detection), bounded to 64 KiB; never fails on bad data:
  // where reading fails after some bytes, those are returned and next() reports the Error.
  [[nodiscard]] Result<std::string> peek(std::size_t lines);
  // For documents that are not read by lines: the bytes that follow, valid until the next call; empty at the end. No
  // bound on lines and no check for NUL bytes here, and line numbers are the caller's from then on.
  [[nodiscard]] Result<std::string_view> next_bytes();

  // Reads a compressed source to its end, at most 4 GiB, and returns the Error where it turns out to be damaged or cut
  // short. For whoever met text that makes no sense: then that is why. Nothing can be read afterwards.
  [[nodiscard]] std::optional<Error> damage();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_; }

 private:
  // Reads more bytes behind end_, first moving what is not consumed to the front. Sets eof_ at the end.
  Status fill();
  Result<Line> refuse(Error error);

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t number_ = 0;
  std::uint64_t bytes_ = 0;
  bool eof_ = false;
  bool broken_ = false;                  // the source has given an Error
  std::size_t nul_ = std::string::npos;  // where the first NUL in [begin_, end_) is
  std::optional<Error> error_;
};

// The whole input, at most limits::kDocumentBytes.
[[nodiscard]] Result<std::string> read_document(const std::string& path);

// Writes `bytes` to a temporary file beside `path` and renames it: readers see the old file or the new one. What is no
// regular file (a pipe, /dev/null) is written to directly.
[[nodiscard]] Status write_file(const std::string& path, std::string_view bytes);

}  // namespace comity
