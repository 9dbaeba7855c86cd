// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/compressed_source.h"
#include "base/input.h"
#include "base/limits.h"
#include "base/log.h"

namespace comity {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kPeekBytes = 64 * 1024;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {}

Status LineReader::fill() {
  if (buffer_.empty()) buffer_.resize(limits::kLineBytes + kReadBytes);
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    if (nul_ != std::string::npos) nul_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  const bool at_start = bytes_ == 0;
  do {
    const Result<std::size_t> got = source_->read(buffer_.data() + end_, std::min(kReadBytes, buffer_.size() - end_));
    broken_ = broken_ || !got;
    if (!got) return fail(got.error());
    eof_ = *got == 0;
    if (nul_ == std::string::npos && *got > 0) {
      const void* nul = std::memchr(buffer_.data() + end_, '\0', *got);
      if (nul != nullptr) nul_ = static_cast<std::size_t>(static_cast<const char*>(nul) - buffer_.data());
    }
    end_ += *got;
    bytes_ += *got;
  } while (at_start && !eof_ && end_ < kByteOrderMark.size());
  if (at_start && std::string_view(buffer_).substr(0, end_).starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
  return {};
}

Result<LineReader::Line> LineReader::refuse(Error error) {
  if (error.file.empty()) error.file = name_;
  error_ = std::move(error);
  return fail(*error_);
}

Result<LineReader::Line> LineReader::next() {
  if (error_) return fail(*error_);
  std::size_t searched = 0;  // bytes behind begin_ that are known to hold no line end
  const char* newline = nullptr;
  for (;;) {
    if (end_ - begin_ > searched) {
      const char* const from = buffer_.data() + begin_ + searched;
      newline = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_ - searched));
    }
    searched = end_ - begin_;
    if (newline != nullptr || eof_ || searched > limits::kLineBytes) break;
    if (Status filled = fill(); !filled) {
      filled.error().line = number_ + 1;
      return refuse(std::move(filled.error()));
    }
    searched = std::min(searched, end_ - begin_);  // a byte order mark may have been left out
  }
  if (newline == nullptr && searched == 0) return Line{.text = {}, .number = 0, .at_end = true};
  const char* const text = buffer_.data() + begin_;
  std::size_t length = newline == nullptr ? searched : static_cast<std::size_t>(newline - text);
  ++number_;
  if (length > limits::kLineBytes || (nul_ != std::string::npos && nul_ < begin_ + length)) {
    const bool binary = length <= limits::kLineBytes;
    Error error = input_error(name_, binary ? "a NUL byte: this is not text" : "the line is longer than 1 MiB", {},
                              "check that this is the right file");
    error.line = number_;
    return refuse(std::move(error));
  }
  begin_ += length + (newline == nullptr ? 0 : 1);
  if (length > 0 && text[length - 1] == '\r') --length;
  return Line{.text = {text, length}, .number = number_, .at_end = false};
}

Result<std::string_view> LineReader::next_bytes() {
  if (error_) return fail(*error_);
  while (begin_ == end_ && !eof_) {
    if (Status filled = fill(); !filled) {
      (void)refuse(std::move(filled.error()));
      return fail(*error_);
    }
  }
  const std::string_view bytes(buffer_.data() + begin_, end_ - begin_);
  begin_ = end_;
  nul_ = std::string::npos;
  return bytes;
}

std::optional<Error> LineReader::damage() {
  if (broken_ || !source_->compressed() || buffer_.empty()) return std::nullopt;
  constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  for (std::uint64_t read = 0; read < kMostBytes && !interrupted();) {
    const Result<std::size_t> got = source_->read(buffer_.data(), buffer_.size());
    if (!got) return got.error();
    if (*got == 0) break;
    read += *got;
  }
  return std::nullopt;
}

Result<std::string> LineReader::peek(std::size_t lines) {
  std::size_t searched = 0;
  std::size_t found = 0;
  for (;;) {
    for (const std::size_t end = std::min(end_ - begin_, kPeekBytes); searched < end && found < lines; ++searched) {
      found += buffer_[begin_ + searched] == '\n' ? 1 : 0;
    }
    if (found == lines || searched == kPeekBytes || eof_ || error_) break;
    if (Status filled = fill(); !filled) {
      filled.error().line = number_ + 1;
      (void)refuse(std::move(filled.error()));
    }
    searched = std::min(searched, end_ - begin_);
  }
  if (searched == 0 && error_) return fail(*error_);
  return buffer_.substr(begin_, searched);
}

}  // namespace comity
