// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_output.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace comity::cli {
namespace {

TEST(FolderNames, AreTheFilesNamesAndDistinct) {
  EXPECT_EQ(folder_names({"a/week.csv", "b/week.csv.gz", "-", "log.swf.zst", "..", "week.csv"}),
            (std::vector<std::string>{"week", "week-2", "stdin", "log", "trace", "week-3"}));
}

TEST(JoinResults, OneTraceIsAsItIsSeveralAreOneDocument) {
  EXPECT_EQ(join_results({"a"}, {"{\"x\":1}\n"}, Output::kJson), "{\"x\":1}\n");
  EXPECT_EQ(join_results({"a", "b"}, {"{\"x\":1}\n", "{\"x\":2}\n"}, Output::kJson), "[{\"x\":1},{\"x\":2}]\n");
  EXPECT_EQ(join_results({"a", "b"}, {"{\"x\":1}\n"}, Output::kJson), "[{\"x\":1}]\n");
  EXPECT_EQ(join_results({"a", "b"}, {"{\"x\":1}\n", "{\"x\":2}\n"}, Output::kJsonl), "{\"x\":1}\n{\"x\":2}\n");
  EXPECT_EQ(join_results({"a,1", "b"}, {"p,n\nfifo,1\n", "p,n\nfifo,2\nsing,3\n"}, Output::kCsv),
            "trace,p,n\n\"a,1\",fifo,1\nb,fifo,2\nb,sing,3\n");
  EXPECT_EQ(join_results({"a", "b"}, {"t\n", "u\n"}, Output::kTable), "t\n\nu\n");
}

}  // namespace
}  // namespace comity::cli
