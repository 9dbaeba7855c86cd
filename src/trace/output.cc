// SPDX-License-Identifier: Apache-2.0
#include "trace/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace comity::trace {

Result<Output> Output::open(const std::string& path) {
  Output out;
  out.path_ = path;
  out.compressor_ = compressor_for(path);
  if (path == "-") {
    out.path_ = "standard output";
    out.file_ = stdout;
    return out;
  }
  // Renaming would put a file in the place of a pipe or a device.
  struct stat info{};
  const bool directly = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (!directly) out.temporary_ = path + ".part" + std::to_string(::getpid());
  out.file_ = std::fopen(directly ? path.c_str() : out.temporary_.c_str(), "we");
  if (out.file_ == nullptr) {
    const int code = errno;
    out.temporary_.clear();
    return fail(std::move(out.failed(code).error()));
  }
  return out;
}

Output::Output(Output&& other) noexcept
    : text(std::move(other.text)),
      file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      compressor_(std::move(other.compressor_)) {}

Output::~Output() {
  if (file_ != nullptr && file_ != stdout) (void)std::fclose(file_);
  if (!temporary_.empty()) (void)std::remove(temporary_.c_str());
}

Status Output::failed(int code) const {
  return fail(Error{.code = Code::kInput,
                    .message = "cannot be written",
                    .file = path_,
                    .line = 0,
                    .field = {},
                    .hint = {},
                    .cause = std::generic_category().message(code)});
}

Status Output::flush(bool last) {
  if (interrupted()) return fail(Code::kInterrupted, "interrupted while writing " + printable(path_, 1024));
  if (compressor_ != nullptr) {
    packed_.clear();
    compressor_->add(text, last, packed_);
  }
  const std::string& bytes = compressor_ != nullptr ? packed_ : text;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return failed(errno);
  text.clear();
  return {};
}

Status Output::finish() {
  if (Status status = flush(true); !status) return status;
  if (std::fflush(file_) != 0) return failed(errno);
  if (file_ == stdout) return {};
  if (std::fclose(std::exchange(file_, nullptr)) != 0) return failed(errno);
  if (!temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0) return failed(errno);
  temporary_.clear();
  return {};
}

}  // namespace comity::trace
