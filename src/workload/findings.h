// SPDX-License-Identifier: Apache-2.0
// Collects what a check finds and keeps the first finding, the one to mend first. Texts are made only where a check
// fails, for searches call these checks many times.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace comity::workload {

class Findings {
 public:
  explicit Findings(const std::string& file) : file_(file) {}

  // `message()` and `hint()` give the texts.
  template <std::invocable Message, std::invocable Hint>
  void need(bool holds, std::string_view field, const Message& message, const Hint& hint) {
    if (holds || !status_) return;
    status_ = fail(Error{.code = Code::kInput,
                         .message = message(),
                         .file = file_,
                         .line = 0,
                         .field = std::string(field),
                         .hint = hint(),
                         .cause = {}});
  }
  void need(bool holds, std::string_view field, std::string_view message, std::string_view hint = {}) {
    need(holds, field, [&] { return std::string(message); }, [&] { return std::string(hint); });
  }
  [[nodiscard]] bool ok() const { return status_.has_value(); }
  [[nodiscard]] Status status() { return std::move(status_); }

 private:
  const std::string& file_;
  Status status_;
};

}  // namespace comity::workload
