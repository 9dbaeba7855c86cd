// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/compressed_source.h"

namespace comity {
namespace {

constexpr std::size_t kPackedBytes = 256 * 1024;

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)), buffer_(kPackedBytes) {
    const int made = inflateInit2(&stream_, 15 + 16);  // the largest window; gzip only
    COMITY_CHECK(made == Z_OK);
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  bool compressed() const override { return true; }

  Result<std::size_t> read(char* data, std::size_t size) override {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    stream_.next_out = reinterpret_cast<Bytef*>(data);
    stream_.avail_out = static_cast<uInt>(std::min(size, kMost));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room && room > 0) {
      if (stream_.avail_in == 0 && !packed_eof_) {
        if (Status filled = fill(); !filled) return fail(std::move(filled.error()));
      }
      if (!in_member_ && !begin_member()) return 0;
      if (stream_.avail_in == 0 && packed_eof_) {
        return fail(input_error(name_, "the gzip data is truncated", {}, "fetch or copy the file again"));
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END)
        in_member_ = false;
      else if (status != Z_OK && status != Z_BUF_ERROR)
        return fail(damaged());
    }
    return room - stream_.avail_out;
  }

 private:
  Status fill() {
    Result<std::size_t> got = packed_->read(buffer_.data(), buffer_.size());
    if (!got) return fail(std::move(got.error()));
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(*got);
    packed_eof_ = *got == 0;
    return {};
  }

  // Skips padding; false at the end. True also when only more input can tell.
  bool begin_member() {
    while (!first_ && stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (stream_.avail_in == 0) return !packed_eof_;
    if (!first_) inflateReset(&stream_);
    first_ = false;
    in_member_ = true;
    return true;
  }

  Error damaged() const {
    return input_error(name_, "the gzip data is damaged", stream_.msg == nullptr ? "" : stream_.msg,
                       "fetch or copy the file again");
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::vector<char> buffer_;
  z_stream stream_{};
  bool first_ = true;
  bool in_member_ = false;
  bool packed_eof_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> packed, std::string name) {
  return std::make_unique<GzipSource>(std::move(packed), std::move(name));
}

}  // namespace comity
