// SPDX-License-Identifier: Apache-2.0
#include "base/input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/limits.h"
#include "base/rng.h"

namespace comity {
namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  EXPECT_FALSE(ZSTD_isError(size));
  out.resize(size);
  return out;
}

std::string many_lines(int count) {
  Rng rng(1);
  std::string out;
  for (int i = 0; i < count; ++i) out += std::to_string(rng.next()) + ',' + std::to_string(i) + '\n';
  return out;
}

LineReader reader_of(std::string_view bytes) {
  auto source = memory_source(bytes);
  EXPECT_TRUE(source) << source.error().text();
  return LineReader(std::move(*source), "test");
}

struct Read {
  std::vector<std::string> lines;
  std::string error;  // empty: none
  std::int64_t error_line = 0;
};

Read read_all(LineReader& reader) {
  Read out;
  for (;;) {
    const auto line = reader.next();
    if (!line) {
      out.error = line.error().text();
      out.error_line = line.error().line;
      return out;
    }
    if (line->at_end) return out;
    EXPECT_EQ(line->number, static_cast<std::int64_t>(out.lines.size()) + 1);
    out.lines.emplace_back(line->text);
  }
}

Read read_all(std::string_view bytes) {
  LineReader reader = reader_of(bytes);
  return read_all(reader);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + '\n';
  return out;
}

// Gives its bytes a few at a time, then an error or the end.
class SlowSource final : public ByteSource {
 public:
  SlowSource(std::string bytes, std::size_t step, bool breaks)
      : bytes_(std::move(bytes)), step_(step), breaks_(breaks) {}
  Result<std::size_t> read(char* data, std::size_t size) override {
    const std::size_t count = std::min({size, step_, bytes_.size() - at_});
    if (count == 0 && breaks_) return fail(Code::kInput, "broken pipe");
    std::copy_n(bytes_.data() + at_, count, data);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t step_;
  bool breaks_;
  std::size_t at_ = 0;
};

using Lines = std::vector<std::string>;

TEST(LineReaderTest, EndsOfLines) {
  EXPECT_EQ(read_all("").lines, Lines{});
  EXPECT_EQ(read_all("\n").lines, Lines{""});
  EXPECT_EQ(read_all("a").lines, Lines{"a"});
  EXPECT_EQ(read_all("a\nb\n").lines, (Lines{"a", "b"}));
  EXPECT_EQ(read_all("a\r\n\r\nb\r").lines, (Lines{"a", "", "b"}));
  EXPECT_EQ(read_all("a\rb\n\n").lines, (Lines{"a\rb", ""}));
  EXPECT_EQ(read_all("\xef\xbb\xbfx,y\n1,2").lines, (Lines{"x,y", "1,2"}));
  EXPECT_EQ(read_all("\xef\xbb\xbf").lines, Lines{});
}

TEST(LineReaderTest, EndStaysTheEnd) {
  LineReader reader = reader_of("a\n");
  ASSERT_TRUE(reader.next());
  for (int i = 0; i < 3; ++i) {
    const auto line = reader.next();
    ASSERT_TRUE(line);
    EXPECT_TRUE(line->at_end);
    EXPECT_EQ(line->text.data(), nullptr);
  }
  EXPECT_EQ(reader.bytes_read(), 2U);
  EXPECT_EQ(reader.name(), "test");
}

TEST(LineReaderTest, LongestLineIsReadOneMoreByteIsRefusedWithItsNumber) {
  const std::string longest(limits::kLineBytes, 'x');
  EXPECT_EQ(read_all("a\n" + longest + "\nb").lines, (Lines{"a", longest, "b"}));
  EXPECT_EQ(read_all(longest).lines, Lines{longest});
  for (const std::string& tail : {std::string("x\nb\n"), std::string("x"), std::string(5U << 20, 'x')}) {
    const Read got = read_all("a\n\n" + longest + tail);
    EXPECT_EQ(got.lines, (Lines{"a", ""}));
    EXPECT_EQ(got.error_line, 3);
    EXPECT_EQ(got.error, "test:3: the line is longer than 1 MiB (check that this is the right file)");
  }
}

TEST(LineReaderTest, BinaryIsRefusedWithItsLine) {
  const Read got = read_all(std::string_view("a\nb\0c\nd\n", 8));
  EXPECT_EQ(got.lines, Lines{"a"});
  EXPECT_EQ(got.error, "test:2: a NUL byte: this is not text (check that this is the right file)");
  const std::string late = many_lines(100'000) + std::string("x\0", 2);
  EXPECT_EQ(read_all(late).error_line, 100'001);
  EXPECT_EQ(read_all(late).lines.size(), 100'000U);
}

TEST(LineReaderTest, ErrorsStay) {
  LineReader reader = reader_of(std::string_view("\0\na\n", 4));
  const auto first = reader.next();
  const auto second = reader.next();
  ASSERT_FALSE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(first.error().text(), second.error().text());
}

TEST(LineReaderTest, PeekConsumesNothing) {
  LineReader reader = reader_of("a\nb\nc");
  EXPECT_EQ(reader.peek(2).value(), "a\nb\n");
  EXPECT_EQ(reader.peek(0).value(), "");
  EXPECT_EQ(reader.peek(9).value(), "a\nb\nc");
  EXPECT_EQ(reader.next()->text, "a");
  EXPECT_EQ(reader.peek(1).value(), "b\n");
  EXPECT_EQ(reader.next()->text, "b");
  EXPECT_EQ(reader.next()->text, "c");
  EXPECT_TRUE(reader.next()->at_end);
}

TEST(LineReaderTest, PeekIsBoundedAndNeverFailsOnBadData) {
  const std::string text = std::string(3U << 20, 'x');
  LineReader long_line = reader_of(text);
  EXPECT_EQ(long_line.peek(1)->size(), 64U * 1024);
  EXPECT_FALSE(long_line.next());
  LineReader broken(std::make_unique<SlowSource>("one\ntwo", 2, true), "pipe");
  EXPECT_EQ(broken.peek(5).value(), "one\ntwo");
  const auto error = broken.next();
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().file, "pipe");
  LineReader dead(std::make_unique<SlowSource>("", 2, true), "pipe");
  EXPECT_FALSE(dead.peek(1));
}

RC_GTEST_PROP(LineReaderProperty, TextComesBackWhateverTheStep, ()) {
  const auto line = rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
  const auto lines = *rc::gen::container<Lines>(line);
  const auto step = *rc::gen::inRange<std::size_t>(1, 20);
  const auto peeked = *rc::gen::inRange<std::size_t>(0, 4);
  LineReader reader(std::make_unique<SlowSource>(joined(lines), step, false), "slow");
  const auto head = reader.peek(peeked);
  RC_ASSERT(head.has_value());
  RC_ASSERT(joined(lines).starts_with(*head));
  RC_ASSERT(read_all(reader).lines == lines);
}

TEST(CompressedTest, GzipAndZstdAreDetectedFromTheirBytes) {
  const std::string text = many_lines(200'000);
  for (const std::string& packed :
       {gzip(text), zstd(text), gzip(text.substr(0, 999)) + gzip(text.substr(999)),
        zstd(text.substr(0, 999)) + zstd(text.substr(999)), gzip("") + gzip(text), gzip(text) + std::string(700, '\0'),
        std::string("\x50\x2a\x4d\x18\x03\0\0\0abc", 11) + zstd(text)}) {
    const Read got = read_all(packed);
    EXPECT_EQ(got.error, "");
    EXPECT_TRUE(joined(got.lines) == text) << got.lines.size();
  }
  EXPECT_EQ(read_all(gzip("")).lines, Lines{});
  EXPECT_EQ(read_all(zstd("")).lines, Lines{});
}

// A file cut anywhere gives a prefix of its lines and then an error that says so: never a short, silent success.
TEST(CompressedTest, EveryCutIsAnError) {
  const std::string text = many_lines(60);
  for (const bool zip : {true, false}) {
    const std::string packed = zip ? gzip(text) : zstd(text);
    for (std::size_t cut = zip ? 2 : 4; cut < packed.size(); ++cut) {
      const Read got = read_all(std::string_view(packed).substr(0, cut));
      ASSERT_NE(got.error.find("truncated"), std::string::npos) << zip << ' ' << cut << ' ' << got.error;
      ASSERT_TRUE(text.starts_with(joined(got.lines))) << cut;
    }
    const std::string second = packed + packed.substr(0, packed.size() / 2);
    EXPECT_NE(read_all(second).error.find("truncated"), std::string::npos) << zip;
  }
}

TEST(CompressedTest, DamageIsAnError) {
  const std::string text = many_lines(3000);
  std::string damaged = gzip(text);
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // the checksum
  EXPECT_NE(read_all(damaged).error.find("gzip data is damaged"), std::string::npos);
  EXPECT_NE(read_all(gzip(text) + "rest").error.find("damaged"), std::string::npos);
  EXPECT_NE(read_all(zstd(text) + "rest of it").error.find("zstd data is damaged"), std::string::npos);
  EXPECT_NE(read_all("\x1f\x8b nonsense that is no gzip").error.find("damaged"), std::string::npos);
}

TEST(CompressedTest, ALineThatUnpacksTooLongIsRefused) {
  const Read got = read_all(gzip(std::string(64U << 20, 'x')));
  EXPECT_EQ(got.error_line, 1);
  EXPECT_NE(got.error.find("longer than 1 MiB"), std::string::npos);
}

TEST(CompressedTest, OtherCompressionsAreNamed) {
  const auto error_of = [](std::string_view bytes) {
    const auto source = memory_source(bytes);
    return source ? std::string() : source.error().message;
  };
  EXPECT_NE(error_of(std::string_view("\xfd"
                                      "7zXZ\0\0",
                                      7))
                .find("xz"),
            std::string::npos);
  EXPECT_NE(error_of("BZh91AY&SYxx").find("bzip2"), std::string::npos);
  EXPECT_NE(error_of("PK\x03\x04xxxx").find("zip"), std::string::npos);
  EXPECT_EQ(error_of("BZh,a,b,c,d,e,f"), "");
}

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "comity_input_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + '/' + name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::string folder_;
};

TEST_F(FileTest, WrittenFilesReadBackPackedOrNot) {
  const std::string text = many_lines(50'000);
  for (const std::string& bytes : {text, gzip(text), zstd(text)}) {
    ASSERT_TRUE(write_file(path("a.txt"), bytes));
    auto source = open_source(path("a.txt"));
    ASSERT_TRUE(source);
    LineReader reader(std::move(*source), "a.txt");
    EXPECT_TRUE(joined(read_all(reader).lines) == text);
    EXPECT_TRUE(read_document(path("a.txt")).value() == text);
  }
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileTest, WhatCannotBeOpenedIsNamed) {
  const auto missing = open_source(path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kInput);
  EXPECT_EQ(missing.error().text(), path("none") + ": cannot be opened: No such file or directory (check the path)");
  const auto folder = open_source(folder_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "is a directory");
  EXPECT_FALSE(open_source(""));
  EXPECT_FALSE(open_source(std::string("a\0b", 3)));
  EXPECT_FALSE(read_document(path("none")));
}

TEST_F(FileTest, ErrorsInTheFileNameIt) {
  ASSERT_TRUE(write_file(path("cut.gz"), gzip(many_lines(100)).substr(0, 200)));
  const auto cut = read_document(path("cut.gz"));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().file, path("cut.gz"));
}

TEST_F(FileTest, DocumentsAreBoundedAlsoWhenPacked) {
  ASSERT_TRUE(write_file(path("bomb.gz"), gzip(std::string(limits::kDocumentBytes + 1, ' '))));
  const auto got = read_document(path("bomb.gz"));
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find("larger than 64 MiB"), std::string::npos);
  ASSERT_TRUE(write_file(path("most.gz"), gzip(std::string(limits::kDocumentBytes, ' '))));
  EXPECT_EQ(read_document(path("most.gz"))->size(), limits::kDocumentBytes);
}

TEST_F(FileTest, WriteReplacesKeepsTheModeAndFollowsLinks) {
  ASSERT_TRUE(write_file(path("a"), "one"));
  ASSERT_EQ(::chmod(path("a").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("a", path("link").c_str()), 0);
  ASSERT_TRUE(write_file(path("link"), "two"));
  EXPECT_EQ(read_document(path("a")).value(), "two");
  struct stat status{};
  ASSERT_EQ(::lstat(path("link").c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(files(), 2U);
}

TEST_F(FileTest, WriteErrorsLeaveNothingBehind) {
  const Status missing = write_file(path("no/such/folder"), "x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kInput);
  EXPECT_EQ(missing.error().hint, "make its folder first");
  EXPECT_FALSE(write_file(folder_, "x"));
  EXPECT_FALSE(write_file("/dev/full", "x"));
  EXPECT_TRUE(write_file("/dev/null", "x"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(files(), 0U);
}

TEST_F(FileTest, PipesAreReadAsTheyCome) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([name = path("pipe")] {
    std::ofstream out(name);
    out << "\x1f" << std::flush;  // the first byte of a gzip file, but text
    ::usleep(20'000);
    out << "a\nb\n";
  });
  auto source = open_source(path("pipe"));
  ASSERT_TRUE(source);
  LineReader reader(std::move(*source), "pipe");
  EXPECT_EQ(read_all(reader).lines, (Lines{"\x1f"
                                           "a",
                                           "b"}));
  writer.join();
}

}  // namespace
}  // namespace comity
