// SPDX-License-Identifier: Apache-2.0
// For tests: a tiny checker of XML element structure. Enough to catch a lost end tag, an unquoted attribute, a raw '<'
// or '&' from a name, or a control character; it knows nothing of namespaces or entities declared elsewhere.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace comity::report {

class WellFormed {
 public:
  // Empty when `markup` is a run of well-formed elements and text, else what is wrong and where.
  static std::string fault(std::string_view markup) { return WellFormed(markup).run(); }

 private:
  explicit WellFormed(std::string_view markup) : rest_(markup), size_(markup.size()) {}

  std::string run() {
    while (!rest_.empty() && fault_.empty()) {
      if (rest_.front() == '<') {
        rest_.remove_prefix(1);
        rest_.starts_with('/') ? end_tag() : start_tag();
      } else {
        character("<");
      }
    }
    if (fault_.empty() && !open_.empty()) {
      wrong("not closed: " + open_.back());
    }
    return fault_;
  }
  void wrong(const std::string& what) {
    if (fault_.empty()) {
      fault_ = what + " at byte " + std::to_string(size_ - rest_.size()) + ": " + std::string(rest_.substr(0, 40));
    }
  }
  void character(std::string_view forbidden) {
    const char c = rest_.front();
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    if (control || forbidden.find(c) != std::string_view::npos) {
      wrong("forbidden character");
    }
    if (c == '&' && rest_.substr(0, 10).find(';') == std::string_view::npos) {
      wrong("bare ampersand");
    }
    rest_.remove_prefix(1);
  }
  std::string name() {
    std::size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 || rest_[n] == '-')) {
      ++n;
    }
    std::string result(rest_.substr(0, n));
    rest_.remove_prefix(n);
    if (n == 0) {
      wrong("a name is missing");
    }
    return result;
  }
  void end_tag() {
    rest_.remove_prefix(1);
    const std::string tag = name();
    if (open_.empty() || open_.back() != tag || !rest_.starts_with('>')) {
      wrong("unexpected end of " + tag);
      return;
    }
    open_.pop_back();
    rest_.remove_prefix(1);
  }
  void start_tag() {
    const std::string tag = name();
    while (fault_.empty() && rest_.starts_with(' ')) {
      rest_.remove_prefix(1);
      attribute();
    }
    if (rest_.starts_with("/>")) {
      rest_.remove_prefix(2);
    } else if (rest_.starts_with('>')) {
      rest_.remove_prefix(1);
      open_.push_back(tag);
    } else {
      wrong("the start tag of " + tag + " does not end");
    }
  }
  void attribute() {
    name();
    if (!rest_.starts_with("=\"")) {
      wrong("an attribute without a quoted value");
      return;
    }
    rest_.remove_prefix(2);
    while (!rest_.empty() && rest_.front() != '"' && fault_.empty()) {
      character("<");
    }
    if (rest_.empty()) {
      wrong("a quote is not closed");
      return;
    }
    rest_.remove_prefix(1);
  }

  std::string_view rest_;
  std::size_t size_;
  std::vector<std::string> open_;
  std::string fault_;
};

}  // namespace comity::report
