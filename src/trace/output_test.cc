// SPDX-License-Identifier: Apache-2.0
#include "trace/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/input.h"

namespace comity::trace {
namespace {

TEST(Output, APipeStaysAPipe) {
  const std::string path = testing::TempDir() + "comity_output_test_pipe";
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  {
    auto out = Output::open(path);
    ASSERT_TRUE(out) << out.error().text();
    out->text = "through";
    ASSERT_TRUE(out->finish());
  }
  std::string got(16, '\0');
  got.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(reader, got.data(), got.size()))));
  EXPECT_EQ(got, "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  std::filesystem::remove(path);
}

TEST(Output, AFileIsWholeOrAsBefore) {
  const std::string path = testing::TempDir() + "comity_output_test_file";
  std::ofstream(path) << "before";
  const auto text = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  {
    auto out = Output::open(path);
    ASSERT_TRUE(out);
    out->text = "half";
  }
  EXPECT_EQ(text(), "before");
  {
    auto out = Output::open(path);
    ASSERT_TRUE(out);
    out->text = "after";
    ASSERT_TRUE(out->finish());
  }
  EXPECT_EQ(text(), "after");
  std::filesystem::remove(path);
  EXPECT_FALSE(Output::open(testing::TempDir()));
}

TEST(Output, TheEndOfThePathSaysHowItIsCompressed) {
  for (const char* name : {"comity_output_test.gz", "comity_output_test.zst"}) {
    const std::string path = testing::TempDir() + name;
    std::string text;
    {
      auto out = Output::open(path);
      ASSERT_TRUE(out);
      for (int i = 0; i < 100'000; ++i) {
        const std::string line = std::to_string(i * 7919) + '\n';
        text += line;
        out->text += line;
        ASSERT_TRUE(out->flush_if_full());
      }
      ASSERT_TRUE(out->finish());
    }
    EXPECT_LT(std::filesystem::file_size(path), text.size() / 2);
    const auto back = read_document(path);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, text);
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace comity::trace
