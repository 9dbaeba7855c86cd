// SPDX-License-Identifier: Apache-2.0
// One list of fields serves reading and writing: a function `fields(visitor, object)` names each field with its bounds,
// and either FieldReader or FieldWriter walks it. So what is written is what is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/toml.h"

namespace comity::workload {

inline constexpr std::string_view kModelSchema = "comity.model/1";
inline constexpr std::string_view kSystemSchema = "comity.system/1";
inline constexpr std::string_view kExecutionSchema = "comity.execution/1";

class FieldReader {
 public:
  explicit FieldReader(TomlReader& reader) : reader_(reader) {}
  void text(std::string_view key, std::string& v);
  void integer(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high) {
    v = reader_.integer(key, v, low, high);
  }
  void real(std::string_view key, double& v, double low, double high) { v = reader_.real(key, v, low, high); }
  void boolean(std::string_view key, bool& v) { v = reader_.boolean(key, v); }
  // One of names[0..count), by its place.
  template <class Enum, class Name>
  void choice(std::string_view key, Enum& v, int count, Name name);

 private:
  void refuse_choice(std::string_view key, const std::string& got, const std::vector<std::string>& names);
  TomlReader& reader_;
};

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}
  void text(std::string_view key, const std::string& v);
  void integer(std::string_view key, std::int64_t v, std::int64_t low, std::int64_t high);
  void real(std::string_view key, double v, double low, double high);
  void boolean(std::string_view key, bool v);
  template <class Enum, class Name>
  void choice(std::string_view key, Enum v, int /*count*/, Name name) {
    text(key, std::string(name(v)));
  }
  void heading(std::string_view line);  // "[moe]", "[[network]]"

 private:
  std::string& out_;
};

template <class Enum, class Name>
void FieldReader::choice(std::string_view key, Enum& v, int count, Name name) {
  const std::string got = reader_.text(key, std::string(name(v)));
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    const auto each = static_cast<Enum>(i);
    if (name(each) == got) {
      v = each;
      return;
    }
    names.emplace_back(name(each));
  }
  refuse_choice(key, got, names);
}

[[nodiscard]] std::string toml_quoted(std::string_view text);
// Refuses a document whose `schema` is another one or missing.
void read_schema(TomlReader& reader, std::string_view schema);
struct Execution;
// The keys of an execution, but for `schema`, out of any table.
void read_execution_fields(TomlReader& reader, Execution& execution);
// Gives `error` the line on which the table holds its field.
[[nodiscard]] Error at_its_line(Error error, const TomlTable& table);

}  // namespace comity::workload
