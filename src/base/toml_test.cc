// SPDX-License-Identifier: Apache-2.0
#include "base/toml.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "base/limits.h"

namespace comity {
namespace {

std::string repeated(std::string_view unit, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += unit;
  return out;
}

// The error of a document that must be refused, as text.
std::string refusal(std::string_view text) {
  const Result<TomlTable> got = parse_toml(text, "f.toml");
  return got ? "<accepted>" : got.error().text();
}

TEST(TomlTest, EveryTypeAndItsLine) {
  const std::string text = "b = true\ni = -3\nd = 2.5\ns = \"\xc3\xa9\" # \xc3\xa9\na = [1, \"x\"]\n[t]\nk = 1\n";
  const auto got = parse_toml(text, "f");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(std::get<bool>(got->at("b").v), true);
  EXPECT_EQ(std::get<std::int64_t>(got->at("i").v), -3);
  EXPECT_EQ(std::get<double>(got->at("d").v), 2.5);
  EXPECT_EQ(std::get<std::string>(got->at("s").v), "\xc3\xa9");
  EXPECT_EQ(std::get<TomlArray>(got->at("a").v).size(), 2U);
  const TomlTable& inner = std::get<TomlTable>(got->at("t").v);
  EXPECT_EQ(inner.at("k").line, 7);
  EXPECT_EQ(got->at("s").line, 4);
  EXPECT_TRUE(parse_toml("", "f"));
  EXPECT_TRUE(
      parse_toml("\xef\xbb\xbf"
                 "a = 1",
                 "f"));
}

TEST(TomlTest, StringsOfEveryKindMayHoldAnything) {
  const std::string brackets(200, '[');
  const std::string text = "a = \"" + brackets + "\\\"\xc3\xa9\"\n" + "b = '\xc3\xa9\\'\n" +
                           "c = \"\"\"\n\"\xc3\xa9\"\"" + brackets + "\\\"\"\"\"\"\"\n" + "d = '''\n'\xc3\xa9''" +
                           brackets + "'''''\n" + "e = \"\"\nf = '' # " + brackets + "\n";
  const auto got = parse_toml(text, "f");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(std::get<std::string>(got->at("a").v), brackets + "\"\xc3\xa9");
  EXPECT_EQ(std::get<std::string>(got->at("b").v), "\xc3\xa9\\");
  EXPECT_EQ(std::get<std::string>(got->at("c").v), "\"\xc3\xa9\"\"" + brackets + "\"\"\"");
  EXPECT_EQ(std::get<std::string>(got->at("d").v), "'\xc3\xa9''" + brackets + "''");
}

TEST(TomlTest, HostileBytesAreNamedByLineAndColumn) {
  EXPECT_EQ(refusal("a = 1\nb = \"\xff\""), "f.toml:2: column 6: invalid UTF-8 (save the file as UTF-8)");
  EXPECT_EQ(refusal("# \xc0\xaf"), "f.toml:1: column 3: invalid UTF-8 (save the file as UTF-8)");
  EXPECT_EQ(refusal(std::string_view("a = 1\0", 6)), "f.toml:1: column 6: a NUL byte (this is not a text file)");
  EXPECT_EQ(refusal("x = \"\xc3\xa9\" \xc3\xa9"),
            "f.toml:1: column 9: a character outside ASCII that is in no string and no comment "
            "(put the text in quotes)");
  EXPECT_NE(refusal("\xc3\xa9 = 1"), "<accepted>");
  EXPECT_NE(refusal("a = '\n\xc3\xa9'"), "<accepted>");
  EXPECT_NE(refusal("a = \"\"\"\"\"\"\xc3\xa9"), "<accepted>");
}

TEST(TomlTest, DepthIsBoundedInEveryForm) {
  const auto most = static_cast<std::size_t>(limits::kDocumentDepth) - 1;
  EXPECT_TRUE(parse_toml("a = " + repeated("[", most) + repeated("]", most), "f"));
  EXPECT_NE(refusal("a = " + repeated("[", most + 2)).find("column 69: nested deeper"), std::string::npos);
  for (const std::size_t depth : {most + 2, std::size_t{1000}, std::size_t{200'000}}) {
    EXPECT_NE(refusal("a = " + repeated("[", depth) + repeated("]", depth)).find("nested deeper"), std::string::npos);
    EXPECT_NE(refusal("a = " + repeated("{a=", depth) + '1' + repeated("}", depth)).find("deeper"), std::string::npos);
    EXPECT_NE(refusal('[' + repeated("a.", depth) + "a]").find("nested deeper"), std::string::npos);
    EXPECT_NE(refusal(repeated("a.", depth) + "a = 1").find("nested deeper"), std::string::npos);
  }
  // Under the scan's bounds one by one, over them together.
  const std::string both = '[' + repeated("a.", 40) + "a]\n" + repeated("b.", 40) + "b = 1";
  EXPECT_NE(refusal(both).find("deeper"), std::string::npos);
}

TEST(TomlTest, WhatTheParserRefusesComesBackAsAnError) {
  for (const char* bad : {"[", "[\n", "a", "a =", "a = 1\na = 2", "a = \"x", "a = '''x", "= 1", "[a]\n[a]", "a = 01",
                          "a = 99999999999999999999", "a = {b = 1\n}", "a = \"\\q\"", "[[a]", "a.b = 1\na = 2"}) {
    const Result<TomlTable> got = parse_toml(bad, "f.toml");
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().code, Code::kInput);
    EXPECT_GE(got.error().line, 1) << bad;
  }
  EXPECT_EQ(refusal("\nwhen = 1979-05-27"), "f.toml:2: a date or time value is not read here (write it in quotes)");
  EXPECT_NE(refusal(std::string(limits::kDocumentBytes + 1, '#')).find("larger than 64 MiB"), std::string::npos);
}

class TomlReaderTest : public testing::Test {
 protected:
  TomlReader read(std::string_view text) {
    Result<TomlTable> got = parse_toml(text, "f.toml");
    if (got) table_ = std::move(*got);
    return TomlReader(table_, "f.toml", "job");
  }
  TomlTable table_;
};

TEST_F(TomlReaderTest, ReadsAndFallsBack) {
  TomlReader reader = read("b = true\ni = 7\nd = 1\ns = \"x\"\nl = [\"a\", \"b\"]\nn = [1, 2]\n[[t]]\nk = 5\n[[t]]\n");
  EXPECT_TRUE(reader.boolean("b", false));
  EXPECT_EQ(reader.integer("i", 0, 1, 7), 7);
  EXPECT_EQ(reader.integer("none", 9, 0, 1), 9);
  EXPECT_EQ(reader.real("d", 0, 0, 1), 1.0);
  EXPECT_EQ(reader.text("s", ""), "x");
  EXPECT_EQ(reader.texts("l"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(reader.integers("n", 1, 2), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(reader.has("i"));
  EXPECT_FALSE(reader.has("none"));
  auto tables = reader.tables("t");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].integer("k", 0, 0, 9), 5);
  EXPECT_TRUE(tables[0].finish());
  tables[1].require("k");
  EXPECT_EQ(tables[1].finish().error().text(), "f.toml:9: job.t[1].k: is missing");
  EXPECT_TRUE(reader.finish());
}

TEST_F(TomlReaderTest, WrongValuesAreNamed) {
  const auto error = [&](std::string_view text, auto use) {
    TomlReader reader = read(text);
    use(reader);
    const Status status = reader.finish();
    return status ? std::string("<accepted>") : status.error().text();
  };
  EXPECT_EQ(error("\nb = 1", [](TomlReader& r) { (void)r.boolean("b", true); }),
            "f.toml:2: job.b: must be true or false");
  EXPECT_EQ(error("i = 8", [](TomlReader& r) { (void)r.integer("i", 0, 1, 7); }),
            "f.toml:1: job.i: must be a whole number between 1 and 7");
  EXPECT_EQ(error("d = nan", [](TomlReader& r) { (void)r.real("d", 0, 0, 0.5); }),
            "f.toml:1: job.d: must be a number between 0 and 0.5");
  EXPECT_NE(error("i = 1.0", [](TomlReader& r) { (void)r.integer("i", 0, 0, 7); }), "<accepted>");
  EXPECT_NE(error("s = 1", [](TomlReader& r) { (void)r.text("s", ""); }), "<accepted>");
  EXPECT_NE(error("l = [\"a\", 1]", [](TomlReader& r) { (void)r.texts("l"); }), "<accepted>");
  EXPECT_NE(error("n = [1, 9]", [](TomlReader& r) { (void)r.integers("n", 0, 8); }), "<accepted>");
  EXPECT_NE(error("[t]", [](TomlReader& r) { (void)r.tables("t"); }).find("[[t]]"), std::string::npos);
  EXPECT_NE(error("t = [1]", [](TomlReader& r) { (void)r.tables("t"); }), "<accepted>");
  EXPECT_EQ(error("", [](TomlReader& r) { r.require("x"); }), "f.toml: job.x: is missing");
  EXPECT_EQ(error("x = 1",
                  [](TomlReader& r) {
                    (void)r.integer("x", 0, 0, 9);
                    r.refuse("x", "is taken");
                    r.refuse("x", "is second");
                  }),
            "f.toml:1: job.x: is taken");
}

TEST_F(TomlReaderTest, UnknownKeysAreRefusedWithTheNearest) {
  TomlReader reader = read("gpus = 1\nnodse = 2\n");
  EXPECT_EQ(reader.integer("gpus", 0, 0, 9), 1);
  EXPECT_EQ(reader.integer("nodes", 3, 0, 9), 3);
  const Status status = reader.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().text(), "f.toml:2: job.nodse: unknown key (did you mean nodes?)");
}

RC_GTEST_PROP(TomlProperty, AnyTextOfTomlCharactersEndsInATableOrAnError, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("[]{}=.,\"'#\n\r a1-+_:\\\xc3\xa9\x80")));
  const Result<TomlTable> got = parse_toml(text, "f");
  if (!got) RC_ASSERT(!got.error().message.empty());
}

RC_GTEST_PROP(TomlProperty, IntegersReadBack, (std::int64_t v)) {
  const Result<TomlTable> got = parse_toml("v = " + std::to_string(v), "f");
  RC_ASSERT(got.has_value());
  RC_ASSERT(std::get<std::int64_t>(got->at("v").v) == v);
}

}  // namespace
}  // namespace comity
