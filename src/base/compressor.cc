// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <limits>

#include "base/check.h"
#include "base/compressor.h"

namespace comity {
namespace {

constexpr std::size_t kStep = 64 * 1024;

class GzipCompressor final : public Compressor {
 public:
  GzipCompressor() {
    const int made = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    COMITY_CHECK(made == Z_OK);
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  void add(std::string_view bytes, bool last, std::string& out) override {
    COMITY_CHECK(bytes.size() <= std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads it
    stream_.avail_in = static_cast<uInt>(bytes.size());
    std::array<char, kStep> step{};
    int status = Z_OK;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(step.data());
      stream_.avail_out = static_cast<uInt>(step.size());
      status = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      COMITY_CHECK(status != Z_STREAM_ERROR);
      out.append(step.data(), step.size() - stream_.avail_out);
    } while (last ? status != Z_STREAM_END : stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
};

class ZstdCompressor final : public Compressor {
 public:
  ZstdCompressor() : context_(ZSTD_createCCtx()) {
    COMITY_CHECK(context_ != nullptr);
    const std::size_t set = ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
    COMITY_CHECK(ZSTD_isError(set) == 0);
  }
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;

  void add(std::string_view bytes, bool last, std::string& out) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::array<char, kStep> step{};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer to{step.data(), step.size(), 0};
      left = ZSTD_compressStream2(context_, &to, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      COMITY_CHECK(ZSTD_isError(left) == 0);
      out.append(step.data(), to.pos);
    } while (last ? left != 0 : in.pos < in.size);
  }

 private:
  ZSTD_CCtx* context_;
};

}  // namespace

std::unique_ptr<Compressor> compressor_for(std::string_view path) {
  if (path.ends_with(".gz")) return std::make_unique<GzipCompressor>();
  if (path.ends_with(".zst")) return std::make_unique<ZstdCompressor>();
  return nullptr;
}

}  // namespace comity
