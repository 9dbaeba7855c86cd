// SPDX-License-Identifier: Apache-2.0
// Whole command lines, each in a process of its own: exit status, standard output, standard error.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/command_words.h"

namespace comity::cli {
namespace {

struct Ended {
  int status = -1;  // exit status; 1000 + number for a signal
  std::string out;
  std::string err;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string temporary(const std::string& name) {
  return testing::TempDir() + "comity_main_test_" + std::to_string(::getpid()) + "_" + name;
}

void redirect(int to, const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(99);
  ::close(fd);
}

// `before` runs in the child, after its output was redirected.
Ended run(std::vector<std::string> words, const std::function<void()>& before = [] {}) {
  const std::string out = temporary("out");
  const std::string err = temporary("err");
  words.insert(words.begin(), "comity");
  const pid_t child = ::fork();
  if (child == 0) {
    redirect(STDOUT_FILENO, out);
    redirect(STDERR_FILENO, err);
    before();
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::_exit(main(static_cast<int>(words.size()), argv.data()));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  Ended ended{WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_file(out), read_file(err)};
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return ended;
}

// A file of its own for a test, gone afterwards.
class File {
 public:
  File(const std::string& name, const std::string& content) : path(temporary(name)) { std::ofstream(path) << content; }
  ~File() { std::filesystem::remove(path); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string path;
};
constexpr const char* kTrace = "job_id,submit_s,duration_s,gpus,vc\n1,0,10,1,a\n2,5,10.5,1,b\n";

const std::vector<std::vector<std::string>>& printing() {
  static const std::vector<std::vector<std::string>> lines = {{"--help"},
                                                              {"--version"},
                                                              {"version"},
                                                              {"policy", "list"},
                                                              {"policy", "show", "sing"},
                                                              {"trace", "formats"},
                                                              {"trace", "--help"},
                                                              {"placement", "list"},
                                                              {"completion", "bash"},
                                                              {"completion", "fish"},
                                                              {"trace", "synth", "steady", "--jobs", "100000"}};
  return lines;
}

TEST(StandardOutput, ThatIsFullEndsWithAMessageAndStatus3) {
  for (const auto& words : printing()) {
    const Ended ended = run(words, [] { redirect(STDOUT_FILENO, "/dev/full"); });
    EXPECT_EQ(ended.status, 3) << words[0];
    EXPECT_NE(ended.err.find("standard output"), std::string::npos) << words[0] << ": " << ended.err;
    EXPECT_NE(ended.err.find("cannot be written"), std::string::npos) << words[0] << ": " << ended.err;
  }
}

TEST(StandardOutput, ThatIsClosedIsNotMistakenForAFile) {
  const File trace("closed.csv", kTrace);
  const Ended ended = run({"replay", trace.path, "--nodes", "1x8", "--policy", "fifo"}, [] { ::close(STDOUT_FILENO); });
  EXPECT_EQ(ended.status, 3);
  EXPECT_NE(ended.err.find("standard output"), std::string::npos) << ended.err;
  EXPECT_EQ(read_file(trace.path), kTrace);
  // Who prints nothing there needs none.
  const std::string to = temporary("closed_out.csv");
  EXPECT_EQ(run({"trace", "convert", trace.path, to, "-q"}, [] { ::close(STDOUT_FILENO); }).status, 0);
  EXPECT_NE(read_file(to).find("10.5"), std::string::npos);
  std::filesystem::remove(to);
}

TEST(StandardOutput, ThatNobodyReadsIsNoMatterForWords) {
  const auto broken_pipe = [] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(99);
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[1]);
    ::signal(SIGPIPE, SIG_IGN);
  };
  for (const auto& words : {std::vector<std::string>{"--help"}, {"policy", "list"}}) {
    const Ended ended = run(words, broken_pipe);
    EXPECT_EQ(ended.status, 3);
    EXPECT_EQ(ended.err, "");
  }
}

TEST(StandardOutput, ThatIsThereGivesStatus0) {
  for (const auto& words : printing()) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << words[0] << ": " << ended.err;
    EXPECT_GT(ended.out.size(), 5U) << words[0];
  }
}

TEST(Interrupt, EndsWhatIsLongWithStatus130AndNoFalseResult) {
  const File trace("interrupt.csv", kTrace);
  const std::string to = temporary("interrupt_out.csv");
  const auto interrupt = [] {
    install_interrupt_handler();
    (void)::raise(SIGINT);
  };
  for (const std::vector<std::string>& words : {std::vector<std::string>{"bench", "queue"},
                                                {"bench", "replay", "--jobs", "20000"},
                                                {"bench", "replay", "--trace", trace.path, "-o", "json"},
                                                {"trace", "synth", "bootstrap", trace.path, to},
                                                {"trace", "convert", trace.path, to},
                                                {"trace", "convert", trace.path, to + ".gz"},
                                                {"trace", "merge", trace.path, "--into", to}}) {
    const Ended ended = run(words, interrupt);
    EXPECT_EQ(ended.status, 130) << words[0] << ' ' << words[1] << ": " << ended.err;
    EXPECT_EQ(ended.out.find("fifo"), std::string::npos) << ended.out;
    EXPECT_FALSE(std::filesystem::exists(to));
    EXPECT_FALSE(std::filesystem::exists(to + ".gz"));
  }
}

TEST(Usage, IsReportedInTheFormatAskedFor) {
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"-o", "json"},
                                                {"-o", "jsonl"},
                                                {"-o", "JSON"},
                                                {"-ojson"},
                                                {"--output=jsonl"},
                                                {"--output", "Json"}}) {
    std::vector<std::string> words = {"policy", "list", "--no-such-option"};
    words.insert(words.end(), asked.begin(), asked.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err.rfind("{\"error\":{\"code\":\"usage\"", 0), 0U) << ended.err;
  }
  const Ended ended = run({"policy", "list", "-o", "xml"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("'xml' is none of table, json, jsonl, csv"), std::string::npos) << ended.err;
  EXPECT_EQ(run({"policy", "list", "-o", "JSON"}).out, run({"policy", "list", "-o", "json"}).out);
}

TEST(Usage, NumbersAreNumbers) {
  const File trace("numbers.csv", kTrace);
  const std::vector<std::string> replay = {"replay", trace.path, "--nodes", "1x8", "--policy", "fifo"};
  const auto with = [&](std::vector<std::string> words, const std::string& option, const std::string& value) {
    words.insert(words.end(), {option, value});
    return run(words).status;
  };
  for (const char* bad : {"nan", "inf", "-inf", "NAN", "", "1e999", "0x10", "1,5", "5 "})
    EXPECT_EQ(with(replay, "--noise", bad), 2) << bad;
  for (const char* bad : {"-1", "18446744073709551616", "", "1.5", "0x10", "+1", "nan"})
    EXPECT_EQ(with(replay, "--seed", bad), 2) << bad;
  for (const char* bad : {"nan", "inf"}) {
    EXPECT_EQ(with({"trace", "scale", trace.path}, "--time", bad), 2);
    EXPECT_EQ(with({"trace", "synth", "sing"}, "--load", bad), 2);
    EXPECT_EQ(with({"trace", "synth", "bootstrap", trace.path}, "--weeks", bad), 2);
    EXPECT_EQ(with({"placement", "compare"}, "--target", bad), 2);
  }
  EXPECT_EQ(with(replay, "--seed", "18446744073709551615"), 0);
  EXPECT_EQ(with(replay, "--noise", "1e1"), 0);
  const auto synth = [](const std::string& seed) { return run({"trace", "synth", "sing", "--seed", seed}).out; };
  EXPECT_EQ(synth("010"), synth("10"));  // decimal, not octal
  EXPECT_EQ(synth("00"), synth("0"));
}

TEST(Usage, AnOptionTakesOneValueEachTime) {
  const File trace("values.csv", kTrace);
  const Ended first = run({"replay", "--policy", "fifo", trace.path, "--nodes", "1x8", "-o", "csv"});
  EXPECT_EQ(first.status, 0) << first.err;
  const Ended set = run({"replay", "--set", "sing.factor=2", "--policy", "sing,fifo,sing", "--policy", "fifo",
                         trace.path, "--nodes", "1x8", "-o", "csv"});
  EXPECT_EQ(set.status, 0) << set.err;
  EXPECT_EQ(std::count(set.out.begin(), set.out.end(), '\n'), 3);  // a header, sing, fifo
}

TEST(Help, ListsWhatEveryCommandTakes) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"replay", "--help"}, {"trace", "stats", "--help"}, {"policy", "--help"}}) {
    const std::string text = run(words).out;
    for (const char* option : {"--output", "--out ", "--seed", "--quiet", "--verbose", "--no-color", "Example: "})
      EXPECT_NE(text.find(option), std::string::npos) << words[0] << ' ' << option << '\n' << text;
  }
}

// What a shell makes of a word.
std::string by_shell(const std::string& word) {
  const std::string out = temporary("shell");
  const pid_t child = ::fork();
  if (child == 0) {
    redirect(STDOUT_FILENO, out);
    ::execl("/bin/sh", "sh", "-c", ("printf %s " + word).c_str(), nullptr);
    ::_exit(99);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::string got = read_file(out);
  std::filesystem::remove(out);
  return got;
}

TEST(Progress, OfALongSimulationIsDrawnOnATerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const std::string name = ::ptsname(terminal);
  const int other = ::open(name.c_str(), O_RDWR | O_NOCTTY);  // what was written stays there while one end is open
  const std::vector<std::string> words = {"plan",   "serve",          "--model",    "llama2-70b",
                                          "--node", "a=rtx4090:2:40", "--requests", "2000"};
  EXPECT_EQ(run(words, [&] { ::dup2(other, STDERR_FILENO); }).status, 0);
  std::string drawn;
  char piece[4096];
  for (ssize_t bytes = 1; bytes > 0;) {
    bytes = ::read(terminal, piece, sizeof piece);
    if (bytes > 0) drawn.append(piece, static_cast<std::size_t>(bytes));
  }
  EXPECT_NE(drawn.find(" %"), std::string::npos) << drawn;
  ::close(other);
  ::close(terminal);
}

TEST(RunJson, HasTheLineThatMakesAPlanAgain) {
  const std::string folder = temporary("folder");
  const auto line = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"-q", "--out", folder});
    EXPECT_EQ(run(words).status, 0);
    std::string text = read_file(folder + "/run.json");
    std::filesystem::remove_all(folder);
    return text;
  };
  const std::string spot = line({"plan", "spot", "--work-tflop", "1e6", "--runs", "5", "--max-machines", "7"});
  EXPECT_NE(spot.find("--max-machines 7 --runs 5"), std::string::npos) << spot;
  const File megatron("run.sh",
                      "pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512"
                      " --max-position-embeddings 512 --micro-batch-size 1 --global-batch-size 8 --vocab-size 51200\n");
  const std::string step =
      line({"iteration", "estimate", "--megatron", megatron.path, "--system", "dgx-a100", "--gpus", "8"});
  EXPECT_NE(step.find("--megatron " + megatron.path + " --gpus 8"), std::string::npos) << step;
}

TEST(ShellWord, IsReadBackByAShell) {
  for (const char* word : {"week.csv", "a b", "it's", "''", "$HOME", "`ls`", "a;b", "*", "~", "\\", "a\nb", "\"q\"",
                           "#", "a&b", "x=y", "!", "(", "\xc3\xa9", "-n"})
    EXPECT_EQ(by_shell(shell_word(word)), word);
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("out/week-1.csv.gz"), "out/week-1.csv.gz");
}

}  // namespace
}  // namespace comity::cli
