// SPDX-License-Identifier: Apache-2.0
#include "base/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/compressed_source.h"
#include "base/log.h"
#include "base/text.h"

namespace comity {

Error input_error(const std::string& file, std::string message, std::string cause, std::string hint) {
  return Error{.code = Code::kInput,
               .message = std::move(message),
               .file = file,
               .line = 0,
               .field = {},
               .hint = std::move(hint),
               .cause = std::move(cause)};
}

namespace {

std::string system_text(int code) { return std::generic_category().message(code); }

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, bool owned, std::string name) : fd_(fd), owned_(owned), name_(std::move(name)) {}
  ~FileSource() override {
    if (owned_) ::close(fd_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<std::size_t> read(char* data, std::size_t size) override {
    for (;;) {
      const ssize_t got = ::read(fd_, data, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      const int code = errno;
      if (code == EINTR && interrupted()) return fail(Code::kInterrupted, "interrupted while reading " + name_);
      if (code != EINTR) return fail(input_error(name_, "cannot be read", system_text(code)));
    }
  }

 private:
  int fd_;
  bool owned_;
  std::string name_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

  Result<std::size_t> read(char* data, std::size_t size) override {
    const std::size_t count = std::min(size, bytes_.size());
    if (count > 0) std::memcpy(data, bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view bytes_;
};

// The bytes that were read to detect the compression, then the rest of the source.
class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}

  Result<std::size_t> read(char* data, std::size_t size) override {
    if (given_ == prefix_.size()) return rest_->read(data, size);
    const std::size_t count = std::min(size, prefix_.size() - given_);
    std::memcpy(data, prefix_.data() + given_, count);
    given_ += count;
    return count;
  }

 private:
  std::string prefix_;
  std::size_t given_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

bool is_zstd(std::string_view head) {
  if (head.starts_with("\x28\xb5\x2f\xfd")) return true;
  // A skippable frame: 0x184D2A50 to 0x184D2A5F, little endian.
  const bool nibble = !head.empty() && (static_cast<unsigned char>(head[0]) & 0xf0U) == 0x50;
  return nibble && head.substr(1).starts_with("\x2a\x4d\x18");
}

// The name of a format that is recognised only to say that it is not read.
std::string_view unread_format(std::string_view head) {
  if (head.starts_with("\xfd"
                       "7zXZ"))
    return "xz";
  if (head.starts_with("BZh") && head.size() >= 10 && head.substr(4, 6) == "1AY&SY") return "bzip2";
  if (head.starts_with("PK\x03\x04")) return "zip";
  if (head.starts_with("\x04\x22\x4d\x18")) return "lz4";
  return {};
}

// Wraps `raw` in the decompressor that its first bytes ask for.
Result<std::unique_ptr<ByteSource>> detect(std::unique_ptr<ByteSource> raw, const std::string& name) {
  std::array<char, 10> head{};
  std::size_t have = 0;
  while (have < head.size()) {
    Result<std::size_t> got = raw->read(head.data() + have, head.size() - have);
    if (!got) return fail(std::move(got.error()));
    if (*got == 0) break;
    have += *got;
  }
  const std::string_view bytes(head.data(), have);
  if (const std::string_view format = unread_format(bytes); !format.empty()) {
    return fail(input_error(name, "is compressed with " + std::string(format) + ", which is not read", {},
                            "decompress it, or compress it with gzip or zstd"));
  }
  const bool gzip = bytes.starts_with("\x1f\x8b");
  const bool zstd = is_zstd(bytes);
  std::unique_ptr<ByteSource> whole = std::make_unique<PrefixedSource>(std::string(bytes), std::move(raw));
  if (gzip) return gzip_source(std::move(whole), name);
  if (zstd) return zstd_source(std::move(whole), name);
  return whole;
}

std::string open_hint(int code) {
  switch (code) {
    case ENOENT: return "check the path";
    case EACCES: return "ask for read permission on the file and its folders";
    case ENOTDIR: return "a part of the path is no directory";
    case EMFILE: return "raise the limit of open files (ulimit -n)";
    default: return {};
  }
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_source(const std::string& path) {
  if (path == "-") return detect(std::make_unique<FileSource>(STDIN_FILENO, false, "standard input"), "standard input");
  const std::string name = printable(path, 1024);
  if (path.find('\0') != std::string::npos) return fail(input_error(name, "the path has a NUL byte"));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int code = errno;
    return fail(input_error(name, "cannot be opened", system_text(code), open_hint(code)));
  }
  auto file = std::make_unique<FileSource>(fd, true, name);
  struct stat status{};
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(input_error(name, "is a directory", {}, "name a file in it"));
  }
  return detect(std::move(file), name);
}

Result<std::unique_ptr<ByteSource>> memory_source(std::string_view bytes) {
  return detect(std::make_unique<MemorySource>(bytes), "memory");
}

}  // namespace comity
