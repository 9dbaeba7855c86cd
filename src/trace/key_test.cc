// SPDX-License-Identifier: Apache-2.0
#include "trace/key.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

namespace comity::trace {
namespace {

const char* const kText = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

class Folder {
 public:
  Folder() : path_(testing::TempDir() + "comity_key_test") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string with(const std::string& name, const std::string& text, mode_t mode) const {
    std::ofstream(file(name)) << text;
    EXPECT_EQ(::chmod(file(name).c_str(), mode), 0);
    return file(name);
  }

 private:
  std::string path_;
};

// Python 3: base64.b32encode(hashlib.blake2b(b"user\0ann", key=bytes(range(32)), digest_size=32).digest()[:10])
TEST(Key, IsKeyedBlake2b) {
  const auto key = Key::parse(kText);
  ASSERT_TRUE(key) << key.error().text();
  EXPECT_EQ(key->pseudonym("user", "ann"), "rynzu4irohz2ir4d");
  EXPECT_EQ(key->pseudonym("tenant", "ann"), "nqnvdrgl3uouckmb");
  EXPECT_EQ(key->pseudonym("user", ""), "wvof4ejc3mq6mwvm");
  EXPECT_EQ(key->pseudonym("user", "\xc3\xa9"), "jloqotrlprb5f2zb");
  // int.from_bytes(the same of b"shift seconds\0"[:8], "big") % 315360000
  EXPECT_EQ(key->number("shift seconds", 315'360'000), 9'405'719U);
  EXPECT_EQ(key->number("shift weeks", 521), 430U);
}

TEST(Key, ANewKeyIsReadBackAndNoOther) {
  const Folder folder;
  const std::string path = folder.file("key");
  std::set<std::string> pseudonyms;
  {
    const auto made = Key::create(path);
    ASSERT_TRUE(made) << made.error().text();
    pseudonyms.insert(made->pseudonym("user", "ann"));
  }
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const auto again = Key::read(path);
  ASSERT_TRUE(again) << again.error().text();
  pseudonyms.insert(again->pseudonym("user", "ann"));
  EXPECT_EQ(pseudonyms.size(), 1U);
  const auto twice = Key::create(path);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::kConflict);
  EXPECT_TRUE(Key::read(path));  // and the old one is still there
  const auto other = Key::create(folder.file("other"));
  ASSERT_TRUE(other);
  pseudonyms.insert(other->pseudonym("user", "ann"));
  EXPECT_EQ(pseudonyms.size(), 2U);
}

TEST(Key, FilesThatOthersMayReadAreRefused) {
  const Folder folder;
  EXPECT_TRUE(Key::read(folder.with("good", std::string(kText) + "\n", 0600)));
  EXPECT_TRUE(Key::read(folder.with("readonly", kText, 0400)));
  for (const mode_t mode : {0640, 0604, 0620, 0666, 0644}) {
    const auto key = Key::read(folder.with("open", kText, mode));
    ASSERT_FALSE(key) << mode;
    EXPECT_EQ(key.error().code, Code::kInput);
    EXPECT_EQ(key.error().file, folder.file("open"));
    EXPECT_NE(key.error().hint.find("chmod 600"), std::string::npos);
  }
  EXPECT_EQ(Key::read(folder.file("absent")).error().code, Code::kNotFound);
  EXPECT_EQ(Key::read(folder.file("")).error().code, Code::kInput);  // a folder
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(Key::read(folder.file("pipe")).error().code, Code::kInput);  // and does not wait for it
  EXPECT_EQ(Key::create(folder.file("no/such/key")).error().code, Code::kInput);
}

TEST(Key, WhatIsNoKeyIsRefusedAndNotRepeated) {
  const Folder folder;
  const std::string text = kText;
  for (const std::string& wrong : {std::string(), text.substr(1), text + "0", text + "\n" + text, "g" + text.substr(1),
                                   std::string(10'000, 'a'), text.substr(0, 32) + "\n" + text.substr(32)}) {
    const auto key = Key::read(folder.with("wrong", wrong, 0600));
    ASSERT_FALSE(key) << wrong.size();
    EXPECT_EQ(key.error().code, Code::kInput);
    EXPECT_EQ(key.error().text().find("0102"), std::string::npos);
  }
}

}  // namespace
}  // namespace comity::trace
