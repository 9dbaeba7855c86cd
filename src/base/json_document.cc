// SPDX-License-Identifier: Apache-2.0
#include "base/json_document.h"

#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/input.h"
#include "base/limits.h"
#include "base/text.h"

namespace comity {
namespace {

// Counts the lines that the parser has taken.
struct Cursor {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  std::int64_t* line;

  reference operator*() const { return *at; }
  Cursor& operator++() {
    if (*at == '\n') ++*line;
    ++at;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  // The parser compares with != alone; an iterator has both.
  [[maybe_unused]] friend bool operator==(const Cursor& a, const Cursor& b) { return a.at == b.at; }
  friend bool operator!=(const Cursor& a, const Cursor& b) { return a.at != b.at; }
};

// Builds the tree; nlohmann's SAX interface, whose parser keeps its own stack.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const std::string& file, const std::int64_t& line) : file_(file), line_(line) {}

  bool null() override {
    if (!open_.empty() && open_.back().object) return true;
    return add(std::monostate());
  }
  bool boolean(bool v) override { return add(v); }
  bool number_integer(std::int64_t v) override { return add(v); }
  bool number_unsigned(std::uint64_t v) override {
    if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return add(static_cast<double>(v));
    return add(static_cast<std::int64_t>(v));
  }
  bool number_float(double v, const std::string& /*text*/) override { return add(v); }
  bool string(std::string& v) override { return add(std::move(v)); }
  bool binary(nlohmann::json::binary_t& /*v*/) override { return refuse("binary data"); }
  bool start_object(std::size_t /*size*/) override { return open(true); }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool key(std::string& v) override {
    Open& top = open_.back();
    if (top.table.contains(v)) return refuse("the key '" + printable(v, 64) + "' stands twice in one object");
    top.key = std::move(v);
    return true;
  }
  bool end_object() override {
    Open top = close();
    if (!open_.empty()) return add(std::move(top.table), top.line);
    root_ = std::move(top.table);
    return true;
  }
  bool end_array() override {
    Open top = close();
    return add(std::move(top.array), top.line);
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/, const nlohmann::detail::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what": the place is told by line_.
    const std::string_view all = e.what();
    const std::size_t colon = all.find(": ");
    return refuse("not valid JSON: " + printable(all.substr(colon == all.npos ? 0 : colon + 2), 256));
  }

  Result<TomlTable> take() {
    if (error_) return fail(std::move(*error_));
    return std::move(root_);
  }

 private:
  struct Open {
    bool object = false;
    std::int64_t line = 0;
    std::string key;
    TomlTable table;
    TomlArray array;
  };

  template <class T>
  bool add(T&& v, std::int64_t line = 0) {
    if (open_.empty()) return refuse("the document is no object", "it has to begin with '{'");
    TomlValue value{std::forward<T>(v), line == 0 ? line_ : line};
    Open& top = open_.back();
    if (top.object)
      top.table.emplace(std::move(top.key), std::move(value));
    else
      top.array.push_back(std::move(value));
    return true;
  }
  bool open(bool object) {
    if (open_.empty() && !object) return refuse("the document is no object", "it has to begin with '{'");
    if (open_.size() >= limits::kDocumentDepth) return refuse("nested too deeply");
    open_.push_back({object, line_, {}, {}, {}});
    return true;
  }
  Open close() {
    Open top = std::move(open_.back());
    open_.pop_back();
    return top;
  }
  bool refuse(std::string message, std::string hint = {}) {
    if (error_) return false;
    error_.emplace();
    error_->code = Code::kInput;
    error_->message = std::move(message);
    error_->file = file_;
    error_->line = line_;
    error_->hint = std::move(hint);
    return false;
  }

  const std::string& file_;
  const std::int64_t& line_;
  std::vector<Open> open_;
  TomlTable root_;
  std::optional<Error> error_;
};

}  // namespace

Result<TomlTable> parse_json(std::string_view text, const std::string& file) {
  std::int64_t line = 1;
  Builder builder(file, line);
  if (text.size() > limits::kDocumentBytes) {
    Error error;
    error.code = Code::kInput;
    error.message = "the document is larger than 64 MiB";
    error.file = file;
    return fail(std::move(error));
  }
  nlohmann::json::sax_parse(Cursor{text.data(), &line}, Cursor{text.data() + text.size(), &line}, &builder);
  return builder.take();
}

}  // namespace comity
