// SPDX-License-Identifier: Apache-2.0
// A streaming JSON writer: compact, fields in the order written, doubles in the shortest form that reads back
// exactly. Non-finite numbers become null. No JSON library appears in a public header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace comity {

class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& string(std::string_view v);  // invalid UTF-8 is replaced by U+FFFD
  JsonWriter& number(double v);
  JsonWriter& integer(std::int64_t v);
  JsonWriter& unsigned_integer(std::uint64_t v);
  JsonWriter& boolean(bool v);
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // already JSON

  template <class T>
  JsonWriter& value(const T& v) {
    if constexpr (std::is_same_v<T, bool>)
      return boolean(v);
    else if constexpr (std::is_floating_point_v<T>)
      return number(static_cast<double>(v));
    else if constexpr (std::is_unsigned_v<T>)
      return unsigned_integer(v);
    else if constexpr (std::is_integral_v<T>)
      return integer(v);
    else
      return string(v);
  }
  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  void separate();

  std::string out_;
  std::vector<bool> first_;
  bool after_key_ = false;
};

}  // namespace comity
