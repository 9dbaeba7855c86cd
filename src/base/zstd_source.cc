// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/compressed_source.h"

namespace comity {
namespace {

constexpr int kWindowLog = 27;  // 128 MiB: what `zstd -d` accepts without being asked

class ZstdSource final : public ByteSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)),
        name_(std::move(name)),
        buffer_(ZSTD_DStreamInSize() * 2),
        context_(ZSTD_createDCtx()) {
    COMITY_CHECK(context_ != nullptr);
    const std::size_t set = ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kWindowLog);
    COMITY_CHECK(ZSTD_isError(set) == 0);
  }
  ~ZstdSource() override { ZSTD_freeDCtx(context_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  bool compressed() const override { return true; }

  Result<std::size_t> read(char* data, std::size_t size) override {
    ZSTD_outBuffer out{data, size, 0};
    while (out.pos == 0 && size > 0) {
      // Asked for input only when the decoder has given all it held: after a frame's end, or a call that gave nothing.
      if (in_.pos == in_.size && drained_) {
        Result<std::size_t> got = packed_->read(buffer_.data(), buffer_.size());
        if (!got) return fail(std::move(got.error()));
        in_ = {buffer_.data(), *got, 0};
        if (*got == 0 && frame_ended_) return 0;
        if (*got == 0) {
          return fail(input_error(name_, "the zstd data is truncated", {}, "fetch or copy the file again"));
        }
      }
      const std::size_t left = ZSTD_decompressStream(context_, &out, &in_);
      if (ZSTD_isError(left) != 0) {
        return fail(
            input_error(name_, "the zstd data is damaged", ZSTD_getErrorName(left), "fetch or copy the file again"));
      }
      frame_ended_ = left == 0;
      drained_ = frame_ended_ || out.pos < out.size;
    }
    return out.pos;
  }

 private:
  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::vector<char> buffer_;
  ZSTD_DCtx* context_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool frame_ended_ = true;
  bool drained_ = true;
};

}  // namespace

std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<ByteSource> packed, std::string name) {
  return std::make_unique<ZstdSource>(std::move(packed), std::move(name));
}

}  // namespace comity
