// SPDX-License-Identifier: Apache-2.0
#include "base/json_items.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "base/limits.h"

namespace comity {
namespace {

// Gives a few bytes at a time, so that every state is left and entered in the middle of things.
class Drip final : public ByteSource {
 public:
  Drip(std::string text, std::size_t step) : text_(std::move(text)), step_(step) {}
  Result<std::size_t> read(char* data, std::size_t size) override {
    const std::size_t count = std::min({step_, size, text_.size() - at_});
    std::copy_n(text_.data() + at_, count, data);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t step_;
  std::size_t at_ = 0;
};

struct Cut {
  std::vector<std::string> items;
  std::vector<std::int64_t> lines;
  Error error;
  bool failed = false;
};

Cut cut(const std::string& text, const std::string& member, std::size_t step = 1 << 20) {
  LineReader reader(std::make_unique<Drip>(text, step), "test");
  JsonItems items(reader, member);
  Cut out;
  for (;;) {
    const auto item = items.next();
    if (!item) {
      out.error = item.error();
      out.failed = true;
      EXPECT_FALSE(items.next());  // stays so
      return out;
    }
    if (item->at_end) return out;
    out.items.emplace_back(item->text);
    out.lines.push_back(item->line);
  }
}

TEST(JsonItems, OfTheDocument) {
  const Cut all = cut(" [ {\"a\": [1, 2]},\n\n 3 , \"x,]\\\"y\", [], null]\n", "");
  ASSERT_FALSE(all.failed) << all.error.text();
  EXPECT_EQ(all.items, (std::vector<std::string>{"{\"a\": [1, 2]}", "3", "\"x,]\\\"y\"", "[]", "null"}));
  EXPECT_EQ(all.lines, (std::vector<std::int64_t>{1, 3, 3, 3, 3}));
  EXPECT_TRUE(cut("[]", "").items.empty());
  EXPECT_FALSE(cut("[]", "").failed);
}

TEST(JsonItems, OfAMember) {
  const Cut all = cut("{\"meta\": {\"jobs\": [9]}, \"n\": 1,\n\"jobs\": [{}, {\"jobs\": []}], \"errors\": []}", "jobs");
  ASSERT_FALSE(all.failed) << all.error.text();
  EXPECT_EQ(all.items, (std::vector<std::string>{"{}", "{\"jobs\": []}"}));
  EXPECT_EQ(all.lines, (std::vector<std::int64_t>{2, 2}));
}

TEST(JsonItems, RefusesWithTheLine) {
  struct Bad {
    const char* text;
    const char* member;
    std::int64_t line;
  };
  for (const Bad& bad : std::vector<Bad>{{"", "", 1},
                                         {"{}", "", 1},
                                         {"[", "", 1},
                                         {"[1", "", 1},
                                         {"[1,\n", "", 2},
                                         {"[1,]", "", 1},
                                         {"[,1]", "", 1},
                                         {"[1 2]", "", 1},
                                         {"[{}\n{}]", "", 2},
                                         {"[{]", "", 1},
                                         {"[{\n\"a", "", 2},
                                         {"[}", "", 1},
                                         {"[\"a]", "", 1},
                                         {"[1]\n[2]", "", 2},
                                         {"[1]]", "", 1},
                                         {"[]", "jobs", 1},
                                         {"{}", "jobs", 1},
                                         {"{\"job\": []}", "jobs", 1},
                                         {"{\"jobs\": {}}", "jobs", 1},
                                         {"{\"jobs\": []", "jobs", 1},
                                         {"{\"jobs\": [],}", "jobs", 1},
                                         {"{\"jobs\" []}", "jobs", 1},
                                         {"{\"jobs\": [], \"x\"}", "jobs", 1},
                                         {"{\"jobs\": []} x", "jobs", 1},
                                         {"{jobs: []}", "jobs", 1}}) {
    for (const std::size_t step : {1U, 1000U}) {
      const Cut got = cut(bad.text, bad.member, step);
      EXPECT_TRUE(got.failed) << bad.text;
      EXPECT_EQ(got.error.code, Code::kInput) << bad.text;
      EXPECT_EQ(got.error.line, bad.line) << bad.text;
      EXPECT_FALSE(got.error.message.empty()) << bad.text;
    }
  }
  EXPECT_TRUE(cut(std::string("[\0]", 3), "").failed);
}

TEST(JsonItems, BoundsNesting) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
  };
  EXPECT_FALSE(cut('[' + nested(limits::kDocumentDepth) + ']', "").failed);
  EXPECT_TRUE(cut('[' + nested(limits::kDocumentDepth + 1) + ']', "").failed);
}

TEST(JsonItems, BoundsAnItem) {
  const std::string large(limits::kDocumentBytes + 1, 'x');
  EXPECT_TRUE(cut("[\"" + large + "\"]", "").failed);
  EXPECT_TRUE(cut("[[\"" + large + "\"]]", "").failed);
  EXPECT_FALSE(cut("{\"other\": [\"" + large + "\"], \"jobs\": [1]}", "jobs").failed);  // passed over, not held
}

nlohmann::json random_json(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 6 : 4)) {
    case 0: return *rc::gen::arbitrary<int>();
    case 1: return *rc::gen::string<std::string>();
    case 2: return nullptr;
    case 3: return *rc::gen::arbitrary<bool>();
    case 4: {
      nlohmann::json list = nlohmann::json::array();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) list.push_back(random_json(depth - 1));
      return list;
    }
    default: {
      nlohmann::json object = nlohmann::json::object();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
        object[*rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'))] = random_json(depth - 1);
      return object;
    }
  }
}

// Whatever the indentation and however the bytes come: the items are those of a whole parser.
RC_GTEST_PROP(JsonItems, AreThoseOfAParser, ()) {
  nlohmann::json list = nlohmann::json::array();
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) list.push_back(random_json(3));
  const bool member = *rc::gen::arbitrary<bool>();
  const nlohmann::json document =
      member ? nlohmann::json{{"a", random_json(2)}, {"jobs", list}, {"z", random_json(2)}} : list;
  const std::string text = document.dump(*rc::gen::inRange(-1, 3), ' ', true, nlohmann::json::error_handler_t::replace);
  const Cut got = cut(text, member ? "jobs" : "", *rc::gen::inRange<std::size_t>(1, 40));
  RC_ASSERT(!got.failed);
  const nlohmann::json back = nlohmann::json::parse(text);
  const nlohmann::json& wanted = member ? back["jobs"] : back;
  RC_ASSERT(got.items.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) RC_ASSERT(nlohmann::json::parse(got.items[i]) == wanted[i]);
}

}  // namespace
}  // namespace comity
