// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/limits.h"

namespace comity {
namespace {

using Fields = std::vector<std::string>;

// The fields of `line`, or {"<refused>"}.
Fields split_all(std::string_view line, char separator = ',') {
  std::vector<std::string_view> views;
  std::string scratch;
  if (!split_csv(line, separator, views, scratch)) return {"<refused>"};
  return {views.begin(), views.end()};
}

TEST(CsvTest, PlainLines) {
  EXPECT_EQ(split_all(""), (Fields{""}));
  EXPECT_EQ(split_all(","), (Fields{"", ""}));
  EXPECT_EQ(split_all("a,b,c"), (Fields{"a", "b", "c"}));
  EXPECT_EQ(split_all("a,,c,"), (Fields{"a", "", "c", ""}));
  EXPECT_EQ(split_all("1\t22\t333", '\t'), (Fields{"1", "22", "333"}));
  EXPECT_EQ(split_all(" a , b "), (Fields{" a ", " b "}));
  EXPECT_EQ(split_all("longer than eight,bytes,\xc3\xa9t\xc3\xa9,0"),
            (Fields{"longer than eight", "bytes", "\xc3\xa9t\xc3\xa9", "0"}));
}

// Bytes next to the separator in value must not be taken for it by the eight-bytes-a-step search.
TEST(CsvTest, NeighbourBytesAreNoSeparators) {
  for (int shift = 0; shift < 8; ++shift) {
    const std::string pad(static_cast<std::size_t>(shift), 'x');
    EXPECT_EQ(split_all(pad + ",-,-\xac\x2d,y"), (Fields{pad, "-", "-\xac\x2d", "y"})) << shift;
  }
}

TEST(CsvTest, QuotedFields) {
  EXPECT_EQ(split_all(R"("a,b",c)"), (Fields{"a,b", "c"}));
  EXPECT_EQ(split_all(R"("",x)"), (Fields{"", "x"}));
  EXPECT_EQ(split_all(R"("")"), (Fields{""}));
  EXPECT_EQ(split_all(R"("he said ""no""",b,"""")"), (Fields{"he said \"no\"", "b", "\""}));
  EXPECT_EQ(split_all(R"(a"b,c)"), (Fields{"a\"b", "c"}));
  EXPECT_EQ(split_all(R"(x,"y",)"), (Fields{"x", "y", ""}));
}

TEST(CsvTest, MalformedLinesAreRefused) {
  EXPECT_EQ(split_all(R"("open)"), (Fields{"<refused>"}));
  EXPECT_EQ(split_all(R"(a,"b"")"), (Fields{"<refused>"}));
  EXPECT_EQ(split_all(R"("a"b,c)"), (Fields{"<refused>"}));
  EXPECT_EQ(split_all("\""), (Fields{"<refused>"}));
}

TEST(CsvTest, FieldLimitIsExactOnBothPaths) {
  const std::string most(limits::kFields - 1, ',');
  EXPECT_EQ(split_all(most).size(), limits::kFields);
  EXPECT_EQ(split_all(most + ','), (Fields{"<refused>"}));
  EXPECT_EQ(split_all("\"\"" + most).size(), limits::kFields);
  EXPECT_EQ(split_all("\"\"" + most + ','), (Fields{"<refused>"}));
  EXPECT_EQ(split_all(std::string(limits::kLineBytes, ',')), (Fields{"<refused>"}));
}

TEST(CsvTest, AppendQuotesOnlyWhereNeeded) {
  std::string out;
  append_csv(out, "plain text");
  out += '|';
  append_csv(out, "a,b");
  out += '|';
  append_csv(out, "a,b", ';');
  out += '|';
  append_csv(out, "\"");
  out += '|';
  append_csv(out, "line\nbreak");
  EXPECT_EQ(out, "plain text|\"a,b\"|a,b|\"\"\"\"|\"line\nbreak\"");
}

RC_GTEST_PROP(CsvProperty, WhatIsAppendedIsSplitBack, ()) {
  const auto text = rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::elementOf(std::string(",;\"\" ab\t")), rc::gen::inRange<char>(0x20, 0x7f)));
  const auto fields = *rc::gen::nonEmpty(rc::gen::container<Fields>(text));
  const char separator = *rc::gen::element(',', ';', '\t');
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += separator;
    append_csv(line, fields[i], separator);
  }
  RC_ASSERT(split_all(line, separator) == fields);
}

RC_GTEST_PROP(CsvProperty, PlainPathAgreesWithByteLoop, ()) {
  const auto line = *rc::gen::container<std::string>(rc::gen::element(',', ',', '-', 'a', '\xac', '\x2b'));
  Fields expected(1);
  for (const char c : line) {
    if (c == ',')
      expected.emplace_back();
    else
      expected.back() += c;
  }
  RC_ASSERT(split_all(line) == expected);
}

}  // namespace
}  // namespace comity
