// SPDX-License-Identifier: Apache-2.0
#include "base/json_document.h"

#include <string>

#include <gtest/gtest.h>

#include "base/limits.h"

namespace comity {
namespace {

TEST(JsonDocument, IsTheTreeOfToml) {
  const auto got = parse_json("{\"a\": 1, \"b\": [1.5, null, \"x\"],\n \"c\": {\"d\": true}, \"e\": null}", "f.json");
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->size(), 3U);
  EXPECT_EQ(std::get<std::int64_t>(got->at("a").v), 1);
  const TomlArray& b = std::get<TomlArray>(got->at("b").v);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(b[1].v));
  EXPECT_EQ(got->at("c").line, 2);
  TomlReader reader(*got, "f.json", "");
  EXPECT_EQ(reader.integer("a", 0, 0, 9), 1);
  EXPECT_TRUE(reader.table("c")->boolean("d", false));
  EXPECT_TRUE(reader.reals("b", 0, 9).empty());  // null and a text are no numbers
  EXPECT_EQ(reader.finish().error().text(), "f.json:1: b: must be an array of numbers between 0 and 9");
}

TEST(JsonDocument, ErrorsNameTheLine) {
  const std::string deep(limits::kDocumentDepth + 1, '[');
  for (const auto& [text, line] : std::initializer_list<std::pair<std::string, int>>{{"", 1},
                                                                                     {"[1]", 1},
                                                                                     {"7", 1},
                                                                                     {"{\n\"a\": }", 2},
                                                                                     {"{\"a\": 1,\n\n\"a\": 2}", 3},
                                                                                     {"{\"a\": \"\xff\"}", 1},
                                                                                     {"{} x", 1},
                                                                                     {"{\"a\": " + deep, 1}}) {
    const auto got = parse_json(text, "f.json");
    ASSERT_FALSE(got.has_value()) << text;
    EXPECT_EQ(got.error().line, line) << text << ": " << got.error().text();
    EXPECT_EQ(got.error().code, Code::kInput);
  }
}

}  // namespace
}  // namespace comity
