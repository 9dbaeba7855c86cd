// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace comity {
namespace {

TEST(TextTest, TrimAndSplit) {
  EXPECT_EQ(trim(" \t a b \r"), "a b");
  EXPECT_EQ(trim(" \t\r"), "");
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(TextTest, NearestFindsTypingErrors) {
  const std::vector<std::string> names = {"easy.reservation", "easy.depth", "gavel.round", "fifo"};
  EXPECT_EQ(nearest("easy.reservatoin", names), "easy.reservation");
  EXPECT_EQ(nearest("fifp", names), "fifo");
  EXPECT_EQ(nearest("round", names), "gavel.round");
  EXPECT_EQ(nearest("something else", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(1 << 20, 'a'), names), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(TextTest, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(10'650), "10,650");
  EXPECT_EQ(format_count(~std::uint64_t{0}), "18,446,744,073,709,551,615");
  EXPECT_EQ(hex64(0), "0000000000000000");
  EXPECT_EQ(hex64(0xdeadbeef01234567ULL), "deadbeef01234567");
}

TEST(TextTest, PrintableDisarmsTerminals) {
  EXPECT_EQ(printable("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(printable("\x1b[31m\n"), "\\x1b[31m\\x0a");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // C1: CSI
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abc...");
  EXPECT_EQ(printable("\x01\x02", 7), "\\x01...");
}

RC_GTEST_PROP(TextProperty, PrintableIsShortValidAndHarmless, (const std::string& s)) {
  const auto limit = *rc::gen::inRange<std::size_t>(0, 100);
  const std::string shown = printable(s, limit);
  RC_ASSERT(shown.size() <= limit);
  for (std::size_t at = 0; at < shown.size();) {
    const CodePoint point = decode_utf8(shown, at);
    RC_ASSERT(point.bytes > 0U);
    RC_ASSERT(point.value >= 0x20U);
    RC_ASSERT(point.value != 0x7fU);
    at += point.bytes;
  }
}

RC_GTEST_PROP(TextProperty, NearestUndoesOneTypingError, ()) {
  const std::vector<std::string> names = {"reservation", "lookahead", "quantum", "preemption"};
  const std::string name = *rc::gen::elementOf(names);
  const auto at = *rc::gen::inRange<std::size_t>(0, name.size());
  std::string wrong = name;
  switch (*rc::gen::inRange(0, 4)) {
    case 0: wrong.erase(at, 1); break;
    case 1: wrong.insert(at, 1, 'z'); break;
    case 2: wrong[at] = 'z'; break;
    default:
      if (at > 0) std::swap(wrong[at], wrong[at - 1]);
  }
  RC_ASSERT(nearest(wrong, names) == name);
}

RC_GTEST_PROP(TextProperty, SplitJoinsBack, (const std::string& s)) {
  std::string joined;
  const auto parts = split(s, 'a');
  for (std::size_t i = 0; i < parts.size(); ++i) joined.append(i > 0 ? "a" : "").append(parts[i]);
  RC_ASSERT(joined == s);
}

TEST(Utf8Test, AcceptsEveryCodePointAndNothingElse) {
  EXPECT_EQ(decode_utf8("\xf4\x8f\xbf\xbf", 0).value, 0x10ffffU);
  EXPECT_EQ(decode_utf8("a\xc3\xa9", 1).value, 0xe9U);
  EXPECT_EQ(decode_utf8(std::string_view("\0", 1), 0).bytes, 1U);
  for (const std::string_view bad : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                                     "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xc3", "\xff"}) {
    EXPECT_EQ(decode_utf8(bad, 0).bytes, 0U) << printable(bad);
  }
  EXPECT_EQ(count_code_points("a\xc3\xa9\xff"), 3U);
}

}  // namespace
}  // namespace comity
