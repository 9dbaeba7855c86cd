// SPDX-License-Identifier: Apache-2.0
// Whole files: read_document() and write_file().
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/compressed_source.h"
#include "base/input.h"
#include "base/limits.h"
#include "base/text.h"

namespace comity {

Result<std::string> read_document(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> source = open_source(path);
  if (!source) return fail(std::move(source.error()));
  constexpr std::size_t kStep = 64 * 1024;
  std::string text;
  for (;;) {
    const std::size_t have = text.size();
    text.resize(have + kStep);
    Result<std::size_t> got = (*source)->read(text.data() + have, kStep);
    if (!got) return fail(std::move(got.error()));
    text.resize(have + *got);
    if (*got == 0) return text;
    if (text.size() > limits::kDocumentBytes) {
      return fail(input_error(printable(path, 1024), "the document is larger than 64 MiB"));
    }
  }
}

namespace {

Error write_error(const std::string& path, int code) {
  Error error = input_error(printable(path, 1024), "cannot be written", std::generic_category().message(code));
  if (code == ENOENT) error.hint = "make its folder first";
  if (code == EACCES) error.hint = "ask for write permission on its folder";
  return error;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

Status write_in_place(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail(write_error(path, errno));
  int code = write_all(fd, bytes);
  if (::close(fd) != 0 && code == 0) code = errno;
  if (code != 0) return fail(write_error(path, code));
  return {};
}

// A symbolic link stays, the file it names is replaced.
std::string followed(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out(real);
  std::free(real);
  return out;
}

}  // namespace

Status write_file(const std::string& path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  if (path.find('\0') != std::string::npos) return fail(input_error(printable(path, 1024), "the path has a NUL byte"));
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return fail(write_error(path, EISDIR));
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, bytes);
  const std::string target = exists ? followed(path) : path;
  const std::string temporary = target + ".tmp." + std::to_string(::getpid()) + '.' + std::to_string(counter++);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return fail(write_error(path, errno));
  int code = exists && ::fchmod(fd, status.st_mode & 07777U) != 0 ? errno : 0;
  if (code == 0) code = write_all(fd, bytes);
  if (code == 0 && ::fsync(fd) != 0) code = errno;
  if (::close(fd) != 0 && code == 0) code = errno;
  if (code == 0 && std::rename(temporary.c_str(), target.c_str()) != 0) code = errno;
  if (code == 0) return {};
  ::unlink(temporary.c_str());
  return fail(write_error(path, code));
}

}  // namespace comity
