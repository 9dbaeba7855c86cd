// SPDX-License-Identifier: Apache-2.0
// Expected failures. A function that can fail for a reason outside the program returns Result<T>; COMITY_CHECK
// (base/check.h) is for bugs. The codes are the exit statuses of the command line and map one to one to HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace comity {

enum class Code : int {
  kFailed = 1,  // the run itself failed (a broken conservation sum, a failed check)
  kUsage = 2,   // wrong command line
  kInput = 3,   // configuration or input that cannot be used
  kUnreachable = 4,
  kNotFound = 5,
  kConflict = 6,
  kNotPermitted = 7,
  kInternal = 70,
  kInterrupted = 130,  // Ctrl-C
};

// What went wrong, where, and what to do. Empty strings and line 0 mean "does not apply".
struct Error {
  Code code = Code::kFailed;
  std::string message;  // one sentence, without file and line
  std::string file;
  std::int64_t line = 0;  // 1-based
  std::string field;
  std::string hint;  // what the reader can do about it
  std::string cause;

  // "file:line: field: message: cause (hint)", leaving out what is empty.
  [[nodiscard]] std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
[[nodiscard]] inline tl::unexpected<Error> fail(Code code, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{.code = code,
                                     .message = std::move(message),
                                     .file = {},
                                     .line = 0,
                                     .field = {},
                                     .hint = std::move(hint),
                                     .cause = {}});
}
// A wrong command line, and which option or argument of it: "--nodes".
[[nodiscard]] inline tl::unexpected<Error> fail_option(std::string option, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{.code = Code::kUsage,
                                     .message = std::move(message),
                                     .file = {},
                                     .line = 0,
                                     .field = std::move(option),
                                     .hint = std::move(hint),
                                     .cause = {}});
}

}  // namespace comity
