// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/megatron_words.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace comity::workload {
namespace {

constexpr std::size_t kMaxWords = 10'000;
constexpr std::size_t kMaxValue = 4096;  // characters of a variable

// Cuts at blanks as a POSIX shell does; see expand() for variables.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::vector<std::string> take() {
    for (std::size_t i = 0; i < text_.size() && words_.size() < kMaxWords; ++i) next(i);
    end_word();
    return std::move(words_);
  }

 private:
  void next(std::size_t& i) {
    const char c = text_[i];
    if (quote_ != 0) {
      if (c == quote_)
        quote_ = 0;
      else
        word_ += c;
      return;
    }
    if (c == '\\' && i + 1 < text_.size()) {
      ++i;
      if (text_[i] != '\n' && text_[i] != '\r') {
        word_ += text_[i];
        open_ = true;
      }
      return;
    }
    if (c == '\'' || c == '"') {
      quote_ = c;
      open_ = true;
      return;
    }
    if (c == '#' && !open_ && word_.empty()) {
      while (i < text_.size() && text_[i] != '\n') ++i;
      return;
    }
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return end_word();
    word_ += c;
    open_ = true;
  }
  void end_word() {
    if (open_ || !word_.empty()) words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }

  std::string_view text_;
  std::vector<std::string> words_;
  std::string word_;
  char quote_ = 0;
  bool open_ = false;
};

// $NAME and ${NAME} stand for what NAME=... before them said; other names are left as they are.
void expand(std::vector<std::string>& words) {
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::map<std::string, std::string, std::less<>> values;
  for (std::string& word : words) {
    std::string out;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const bool braces = word[i] == '$' && i + 1 < word.size() && word[i + 1] == '{';
      std::size_t end = i + (braces ? 2 : 1);
      const std::size_t begin = end;
      while (word[i] == '$' && end < word.size() && in_name(word[end])) ++end;
      const auto value = values.find(std::string_view(word).substr(begin, end - begin));
      const bool closed = !braces || (end < word.size() && word[end] == '}');
      if (word[i] != '$' || value == values.end() || !closed || out.size() > kMaxValue) {
        out += word[i];
        continue;
      }
      out += value->second;
      i = braces ? end : end - 1;
    }
    word = std::move(out);
    const std::size_t equal = word.find('=');
    if (equal != std::string::npos && equal > 0 &&
        std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equal), in_name))
      values[word.substr(0, equal)] = word.substr(equal + 1, kMaxValue);
  }
}

MegatronOptions options_of(const std::vector<std::string>& words) {
  MegatronOptions out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--") || words[i].size() == 2) continue;
    std::string name = words[i].substr(2);
    std::string value;
    if (const std::size_t equal = name.find('='); equal != std::string::npos) {
      value = name.substr(equal + 1);
      name.resize(equal);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      value = words[++i];
    }
    std::replace(name.begin(), name.end(), '_', '-');
    out[name] = value;
  }
  return out;
}

}  // namespace

MegatronOptions megatron_options(std::string_view command) {
  std::vector<std::string> words = Words(command).take();
  expand(words);
  return options_of(words);
}

}  // namespace comity::workload
