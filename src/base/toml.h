// SPDX-License-Identifier: Apache-2.0
// TOML from outside, parsed behind one door: invalid UTF-8, NUL, nesting over limits::kDocumentDepth and non-ASCII
// outside strings and comments are refused with line and column before the parser sees them. The document becomes a
// plain tree of TomlValue, so that no TOML library appears in a public header. Unknown keys are the caller's to
// refuse: TomlReader keeps count of what was read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace comity {

struct TomlValue;
using TomlArray = std::vector<TomlValue>;
using TomlTable = std::map<std::string, TomlValue, std::less<>>;
struct TomlValue {
  std::variant<bool, std::int64_t, double, std::string, TomlArray, TomlTable, std::monostate> v;  // last: JSON null
  std::int64_t line = 0;
};

[[nodiscard]] Result<TomlTable> parse_toml(std::string_view text, const std::string& file);

// Typed, checked access to one table. The first wrong value is kept as the error; unknown keys are refused by
// finish() with the nearest known name.
class TomlReader {
 public:
  TomlReader(const TomlTable& table, std::string file, std::string where, std::int64_t line = 0);

  bool boolean(std::string_view key, bool fallback);
  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high);
  double real(std::string_view key, double fallback, double low, double high);
  std::string text(std::string_view key, std::string fallback);
  std::vector<std::string> texts(std::string_view key);
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t low, std::int64_t high);
  std::vector<double> reals(std::string_view key, double low, double high);
  // An array of [x, y], each between low and high.
  std::vector<std::pair<double, double>> points(std::string_view key, double low, double high);
  std::optional<TomlReader> table(std::string_view key);              // none when absent
  const TomlValue* value(std::string_view key) { return look(key); }  // null when absent; for what has no reader here
  // Array of tables ([[key]]), empty when absent.
  std::vector<TomlReader> tables(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::int64_t line() const { return line_; }       // of the table, 0 for the root
  void known(std::string_view key) { known_.emplace_back(key); }  // read elsewhere: not an unknown key
  void require(std::string_view key);
  void refuse(std::string_view key, std::string message);  // a value that is well formed but wrong
  [[nodiscard]] Status finish();                           // this table's error; call it for child readers too

 private:
  const TomlValue* look(std::string_view key);
  const TomlTable* table_;
  std::string file_;
  std::string where_;
  std::int64_t line_;
  std::vector<std::string> known_;
  Status status_;
};

}  // namespace comity
