// SPDX-License-Identifier: Apache-2.0
#include "base/toml_scan.h"

#include <cstdint>

#include "base/limits.h"
#include "base/utf8.h"

namespace comity {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Status run() {
    while (at_ < text_.size()) {
      const CodePoint point = decode_utf8(text_, at_);
      if (point.bytes == 0) return refuse("invalid UTF-8", "save the file as UTF-8");
      if (point.value == 0) return refuse("a NUL byte", "this is not a text file");
      if (point.value >= 0x80 && where_ == Where::kPlain) {
        return refuse("a character outside ASCII that is in no string and no comment", "put the text in quotes");
      }
      if (Status entered = where_ == Where::kPlain ? plain(text_[at_]) : quoted(text_[at_]); !entered) return entered;
      advance(point);
    }
    return {};
  }

 private:
  enum class Where { kPlain, kComment, kBasic, kLiteral, kLongBasic, kLongLiteral };

  Status plain(char c) {
    switch (c) {
      case '#': where_ = Where::kComment; break;
      case '"': open(c, Where::kBasic, Where::kLongBasic); break;
      case '\'': open(c, Where::kLiteral, Where::kLongLiteral); break;
      case '[':
      case '{':
        dots_ = 0;
        if (++depth_ > limits::kDocumentDepth) return too_deep();
        break;
      case ']':
      case '}':
        dots_ = 0;
        if (depth_ > 0) --depth_;
        break;
      case '=':
      case ',':
      case '\n': dots_ = 0; break;
      case '.':
        if (++dots_ >= limits::kDocumentDepth) return too_deep();
        break;
      default: break;
    }
    return {};
  }

  void open(char quote, Where one_line, Where many_lines) {
    const bool triple = text_.substr(at_).starts_with(std::string(3, quote));
    where_ = triple ? many_lines : one_line;
    skip_ = triple ? 2 : 0;
  }

  Status quoted(char c) {
    switch (where_) {
      case Where::kComment:
        if (c == '\n') where_ = Where::kPlain;
        break;
      case Where::kBasic:
      case Where::kLongBasic:
        if (c == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\'))
          skip_ = 1;
        else
          close(c, '"', where_ == Where::kLongBasic);
        break;
      case Where::kLiteral:
      case Where::kLongLiteral: close(c, '\'', where_ == Where::kLongLiteral); break;
      case Where::kPlain: break;
    }
    return {};
  }

  // A string of one line that its line does not close is the parser's to refuse; the scan goes on behind it.
  void close(char c, char quote, bool triple) {
    if (!triple && (c == quote || c == '\n')) where_ = Where::kPlain;
    if (!triple || c != quote || !text_.substr(at_).starts_with(std::string(3, quote))) return;
    where_ = Where::kPlain;
    skip_ = 2;
    while (skip_ < 4 && at_ + skip_ + 1 < text_.size() && text_[at_ + skip_ + 1] == quote) ++skip_;  // up to """""
  }

  // Past this character and the ASCII ones that belong to it.
  void advance(CodePoint point) {
    if (point.value == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
    at_ += point.bytes + skip_;
    column_ += static_cast<std::int64_t>(skip_);
    skip_ = 0;
  }

  tl::unexpected<Error> too_deep() const {
    return refuse("nested deeper than " + std::to_string(limits::kDocumentDepth) + " levels", {});
  }

  tl::unexpected<Error> refuse(std::string message, std::string hint) const {
    return fail(Error{.code = Code::kInput,
                      .message = "column " + std::to_string(column_) + ": " + std::move(message),
                      .file = file_,
                      .line = line_,
                      .field = {},
                      .hint = std::move(hint),
                      .cause = {}});
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t skip_ = 0;
  std::int64_t line_ = 1;
  std::int64_t column_ = 1;
  int depth_ = 0;
  int dots_ = 0;
  Where where_ = Where::kPlain;
};

}  // namespace

Status scan_toml(std::string_view text, const std::string& file) { return Scanner(text, file).run(); }

}  // namespace comity
