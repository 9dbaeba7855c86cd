// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/utf8.h"

namespace comity {
namespace {

std::string escaped(std::string_view s) {
  JsonWriter json;
  json.string(s);
  return json.text();
}

std::string number(double v) {
  JsonWriter json;
  json.number(v);
  return json.text();
}

// Reads back what the writer may write: two-character escapes and \u00XX.
std::string unescaped(std::string_view json) {
  std::string out;
  for (std::size_t i = 1; i + 1 < json.size(); ++i) {
    if (json[i] != '\\') {
      out += json[i];
      continue;
    }
    ++i;
    switch (json[i]) {
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u':
        out += static_cast<char>(std::strtol(std::string(json.substr(i + 1, 4)).c_str(), nullptr, 16));
        i += 4;
        break;
      default: out += json[i];
    }
  }
  return out;
}

TEST(JsonTest, NestedDocument) {
  JsonWriter json;
  json.begin_object().field("name", "a").field("n", 3).field("u", ~std::uint64_t{0}).field("ok", true);
  json.key("list").begin_array().value(1.5).null().begin_object().end_object().begin_array().end_array().end_array();
  json.key("raw").raw("{\"x\":1}").field("f", 0.1F).field("last", std::string("z")).end_object();
  EXPECT_EQ(json.text(),
            R"({"name":"a","n":3,"u":18446744073709551615,"ok":true,"list":[1.5,null,{},[]],"raw":{"x":1},)"
            R"("f":0.10000000149011612,"last":"z"})");
}

TEST(JsonTest, Numbers) {
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(1), "1");
  EXPECT_EQ(number(-2.5e-300), "-2.5e-300");
  EXPECT_EQ(number(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(number(std::nan("")), "null");
  JsonWriter json;
  json.begin_array().integer(std::numeric_limits<std::int64_t>::min()).end_array();
  EXPECT_EQ(json.text(), "[-9223372036854775808]");
}

TEST(JsonTest, StringsAreEscaped) {
  EXPECT_EQ(escaped("a\"b\\c\n\t\x01\x7f"), R"("a\"b\\c\n\t\u0001\u007f")");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(escaped("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"");
}

TEST(JsonTest, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(escaped("a\xff"
                    "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(escaped("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");  // cut short
  EXPECT_EQ(escaped("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");  // overlong
  EXPECT_EQ(escaped("\xed\xa0\x80").size(), 2 + 3 * 3U);           // a surrogate
}

TEST(JsonTest, MisuseIsABug) {
  JsonWriter json;
  EXPECT_EXIT(json.end_object(), testing::ExitedWithCode(70), "check failed");
  json.begin_object().key("a");
  EXPECT_EXIT(json.end_object(), testing::ExitedWithCode(70), "check failed");
}

RC_GTEST_PROP(JsonProperty, EscapedAsciiReadsBack, ()) {
  const auto s = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 0x7f));
  const std::string json = escaped(s);
  for (const char c : json) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
  RC_ASSERT(unescaped(json) == s);
}

RC_GTEST_PROP(JsonProperty, AnyBytesBecomeValidUtf8, (const std::string& s)) {
  const std::string json = escaped(s);
  for (std::size_t at = 0; at < json.size();) {
    const CodePoint point = decode_utf8(json, at);
    RC_ASSERT(point.bytes > 0U);
    at += point.bytes;
  }
}

RC_GTEST_PROP(JsonProperty, DoublesReadBackExactly, (std::uint64_t bits)) {
  const double v = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(v));
  RC_ASSERT(std::bit_cast<std::uint64_t>(std::strtod(number(v).c_str(), nullptr)) == bits);
}

}  // namespace
}  // namespace comity
