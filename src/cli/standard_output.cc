// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/text.h"

namespace comity::cli {

void open_standard_streams() {
  // open() takes the lowest free number. Reading from 0 and writing to 1 fail with EBADF; what goes to 2 is dropped.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF)
      (void)::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
  }
}

std::string printable_lines(std::string_view text) {
  constexpr std::size_t kMostBytes = 64 * 1024;  // of a line
  std::string out;
  for (const std::string_view line : split(text, '\n')) out += printable(line, kMostBytes) + '\n';
  out.pop_back();
  return out;
}

Status finish_standard_output(int code) {
  if (code == 0) {
    errno = 0;
    const bool failed = std::fflush(stdout) != 0;
    if (!failed && std::ferror(stdout) == 0) return {};
    code = failed ? errno : 0;  // 0: an earlier write failed and its cause is gone
  }
  Error error;
  error.code = Code::kInput;
  if (code == EPIPE) return fail(std::move(error));
  error.message = "cannot be written";
  error.file = "standard output";
  if (code != 0) error.cause = std::generic_category().message(code);
  if (code == ENOSPC) error.hint = "make room on the disk";
  return fail(std::move(error));
}

}  // namespace comity::cli
