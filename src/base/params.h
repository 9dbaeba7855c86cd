// SPDX-License-Identifier: Apache-2.0
// The parameter registry. A parameter is declared once {name, type, unit, default, range, doc}; the declaration drives
// `--set name=value`, the configuration file, `comity policy show`, the error for an unknown name and the tuner.
// Names are "owner.parameter" (for example "easy.reservation").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace comity {

struct Param {
  // kList: numbers separated by commas. kFile: the path of a file of numbers, which whoever takes the value from
  // outside reads and hands over with load(); empty = no file.
  enum class Type { kBool, kInt, kReal, kTime, kChoice, kText, kList, kFile };
  std::string name;
  Type type = Type::kText;
  std::string unit;      // "s", "GPUs", "" ...
  std::string fallback;  // the default, as text
  double low = 0;        // range of kInt, kReal, kTime (s), each of kList and kFile; low == high: unbounded
  double high = 0;
  std::vector<std::string> choices;  // kChoice
  std::string doc;                   // one line
};

// Values for a set of declared parameters. Every value has an origin for `--origin` and run.json.
class Params {
 public:
  Params() = default;
  explicit Params(std::vector<Param> declared);  // all at their defaults

  // Parses and checks against the declaration. Unknown name: kUsage with the nearest one; out of range: kUsage naming
  // the range. "inf" is accepted for kReal where the range has no end or
  // one beyond 1e18.
  [[nodiscard]] Status set(std::string_view name, std::string_view value, std::string origin = "flag");
  [[nodiscard]] bool knows(std::string_view name) const;
  // The numbers of the file that a kFile names; kInput with the number that is out of range.
  [[nodiscard]] Status load(std::string_view name, std::vector<double> numbers);

  // Typed access; asking for an undeclared name or the wrong type is a bug (COMITY_CHECK).
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] std::int64_t time(std::string_view name) const;        // ns; written as "90", "4h", ...
  [[nodiscard]] const std::string& text(std::string_view name) const;  // kChoice and kText

  [[nodiscard]] const std::vector<double>& reals(std::string_view name) const;  // kList and kFile

  [[nodiscard]] const std::vector<Param>& declared() const { return declared_; }
  [[nodiscard]] const std::string& value_text(std::string_view name) const;
  [[nodiscard]] const std::string& origin(std::string_view name) const;

 private:
  struct Value {
    std::variant<bool, std::int64_t, double, std::string> v;
    std::vector<double> list;  // kList and kFile
    std::string text;
    std::string origin;
  };
  [[nodiscard]] const Param* find(std::string_view name) const;
  [[nodiscard]] const Value& get(std::string_view name) const;
  [[nodiscard]] const Value& get(std::string_view name, Param::Type type) const;

  std::vector<Param> declared_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace comity
