// SPDX-License-Identifier: Apache-2.0
// Every public trace at hand, whole: its counts against awk's, its GPU hours too where the file has run times; cut at
// 50 places; written as Comity CSV and read again.
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/text.h"
#include "trace/gavel_rates.h"
#include "trace/test_files.h"

namespace comity::trace {
namespace {

// The numbers that a command prints.
std::vector<double> numbers_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = pipe == nullptr ? EOF : std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get()))
    text += static_cast<char>(c == '\n' ? ' ' : c);
  std::vector<double> numbers;
  for (const std::string_view word : split(trim(text), ' ')) {
    if (const auto value = parse_double(trim(word))) numbers.push_back(*value);
  }
  return numbers;
}

std::string whole_text(const std::string& path) {
  std::string text;
  auto source = open_source(path);
  std::string block(1 << 16, '\0');
  while (source) {
    const auto size = (*source)->read(block.data(), block.size());
    if (!size || *size == 0) break;
    text.append(block, 0, *size);
  }
  return text;
}

struct PublicFile {
  const char* name;
  const char* format;
  const char* awk;  // prints jobs, other rows and, where it can, GPU hours
};

void PrintTo(const PublicFile& file, std::ostream* out) { *out << file.name; }

constexpr const char* kChronusAwk = "-F, 'NR>1{if($3>0){n++;h+=$3*$7/60}else o++}END{print n,o+0,h}'";
constexpr const char* kOpenbAwk =
    "-F, 'NR>1{if($4>0){n++;s=$11==\"\"?$9:$11;h+=$4*($10-s)/3600}else o++}END{print n,o+0,h}'";
constexpr const char* kLinesAwk = "'END{print NR,0}'";
constexpr const char* kRowsAwk = "'END{print NR-1,0}'";

class PublicFiles : public testing::TestWithParam<PublicFile> {};

TEST_P(PublicFiles, CountsAreAwks) {
  const std::string path = shared_trace(GetParam().name);
  COMITY_NEED_TRACE(path)
  const auto trace = read_trace(path, {});
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->format, GetParam().format);
  EXPECT_EQ(trace->skipped_lines, 0U);
  const std::vector<double> want = numbers_of("zcat -f '" + path + "' | awk " + GetParam().awk);
  ASSERT_GE(want.size(), 2U) << GetParam().awk;
  EXPECT_EQ(trace->rows.size(), static_cast<std::size_t>(want[0]));
  std::uint64_t others = 0;
  for (const OtherRows& rows : trace->other_rows) others += rows.count;
  EXPECT_EQ(others, static_cast<std::uint64_t>(want[1]));
  if (want.size() > 2) {
    EXPECT_NEAR(trace->gpu_hours(), want[2], want[2] * 1e-5);
  }
}

// A cut file is read as far as it goes, or refused with the line: both the file's bytes and its text.
TEST_P(PublicFiles, CutAnywhereGiveARowOrALine) {
  const std::string path = shared_trace(GetParam().name);
  COMITY_NEED_TRACE(path)
  const std::string text = whole_text(path);
  ASSERT_FALSE(text.empty());
  Rng rng(2);
  std::size_t read = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string cut = text.substr(0, rng.below(text.size()));
    const auto strict = read_text(cut);
    if (!strict) {
      EXPECT_EQ(strict.error().code, Code::kInput);
      EXPECT_GE(strict.error().line, 1) << cut.size() << ": " << strict.error().text();
    }
    ReadOptions skip;
    skip.skip_bad = true;
    const auto lenient = read_text(cut, skip);
    if (lenient) {
      ++read;
      EXPECT_LE(lenient->skipped_lines, 1U);  // the line that was cut
    } else {
      EXPECT_GE(lenient.error().line, 1) << cut.size() << ": " << lenient.error().text();
    }
  }
  EXPECT_GE(read, 25U);  // most cuts leave whole lines
}

INSTANTIATE_TEST_SUITE_P(
    Shared, PublicFiles,
    testing::Values(PublicFile{"chronus/trace_job_Philly_SLO.csv.gz", "chronus", kChronusAwk},
                    PublicFile{"chronus/trace_job_Philly_MIX1.csv.gz", "chronus", kChronusAwk},
                    PublicFile{"chronus/trace_job_Philly_MIX2.csv.gz", "chronus", kChronusAwk},
                    PublicFile{"chronus/chr_Philly_SLO_400.csv", "chronus", kChronusAwk},
                    PublicFile{"chronus/chr_Philly_MIX1_400.csv", "chronus", kChronusAwk},
                    PublicFile{"chronus/chr_Philly_MIX2_400.csv", "chronus", kChronusAwk},
                    PublicFile{"astraea_philly2d.csv", "astraea", "-F, 'NR>1{n++;h+=$3*$7/3600}END{print n,0,h}'"},
                    PublicFile{"openb/openb_pod_list_default.csv.gz", "openb", kOpenbAwk},
                    PublicFile{"openb/openb_pod_list_gpushare100.csv.gz", "openb", kOpenbAwk},
                    PublicFile{"openb/openb_pod_list_gpuspec33.csv.gz", "openb", kOpenbAwk},
                    PublicFile{"openb/openb_pod_list_multigpu50.csv.gz", "openb",
                               "-F, 'NR>1{if($4>0)n++;else o++}END{print n,o+0,0}'"},
                    PublicFile{"sia/philly/workload-1.csv", "sia", kRowsAwk},
                    PublicFile{"sia/philly/workload-2.csv", "sia", kRowsAwk},
                    PublicFile{"sia/philly/workload-3.csv", "sia", kRowsAwk},
                    PublicFile{"sia/saturn/workload-1.csv", "sia", kRowsAwk},
                    PublicFile{"sia/saturn/workload-2.csv", "sia", kRowsAwk},
                    PublicFile{"sia/saturn/workload-3.csv", "sia", kRowsAwk},
                    PublicFile{"sia/newtrace/workload-1.csv", "sia", kRowsAwk},
                    PublicFile{"gavel/msr_seed0_0e4a51.trace.gz", "gavel", kLinesAwk},
                    PublicFile{"gavel/physical_cluster/artifact_evaluation.trace", "gavel", kLinesAwk},
                    PublicFile{"gavel/physical_cluster/debug.trace", "gavel", kLinesAwk},
                    PublicFile{"gavel/physical_cluster/debug_v2.trace", "gavel", kLinesAwk},
                    PublicFile{"gavel/physical_cluster/highmem_test.trace", "gavel", kLinesAwk},
                    PublicFile{"gavel/physical_cluster/max_min_fairness.trace", "gavel", kLinesAwk},
                    PublicFile{"gavel/physical_cluster/medium_test.trace", "gavel", kLinesAwk},
                    PublicFile{"gavel/physical_cluster/minimize_makespan.trace", "gavel", kLinesAwk},
                    PublicFile{"gavel/physical_cluster/small_test.trace", "gavel", kLinesAwk}),
    [](const auto& test) {
      std::string name = test.param.name;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

TEST(NoTraces, AreRefused) {
  for (const char* name :
       {"tiresias/n32g4.csv", "tiresias/yarn-gput1000.csv", "astraea_share.csv", "astraea_names.lst",
        "lucid/vc_config.csv", "lucid/single_data.csv", "lucid/colocate_info.csv",
        "lucid/venus_cluster_throughput.csv.gz", "gavel/simulation_throughputs.json.gz", "chronus/model_info.json",
        "openb/openb_node_list_all_node.csv", "misc/alibaba_spot2026_node_info.csv", "swf/jobs500_ubccr.swf"}) {
    const std::string path = shared_trace(name);
    COMITY_NEED_TRACE(path)
    const auto trace = read_trace(path, {});
    ASSERT_FALSE(trace) << name << " is read as " << trace->format;
    EXPECT_EQ(trace.error().code, Code::kInput);
    EXPECT_GE(trace.error().line, 1);
  }
}

// The rates are those of Gavel's own file, and it has no other.
TEST(GavelRates, AreItsFiles) {
  const std::string path = shared_trace("gavel/simulation_throughputs.json.gz");
  COMITY_NEED_TRACE(path)
  const std::string json = whole_text(path);
  std::size_t at = json.find("\"v100\": {");
  ASSERT_NE(at, std::string::npos);
  const std::size_t end = json.find("\"v100_unconsolidated\"", at);
  std::size_t compared = 0;
  constexpr std::string_view kAlone = "\"null\": ";
  for (at = json.find("\n        \"('", at); at < end; at = json.find("\n        \"('", at + 1)) {
    const std::size_t quote = json.find("', ", at);
    const std::string type = json.substr(at + 12, quote - at - 12);
    const auto gpus = parse_int(json.substr(quote + 3, json.find(')', quote + 3) - quote - 3));
    const std::size_t alone = json.find(kAlone, quote) + kAlone.size();
    const auto rate = parse_double(json.substr(alone, json.find_first_of(",\n", alone) - alone));
    ASSERT_TRUE(gpus && rate) << type;
    const auto ours = gavel_rate(type, *gpus);
    ASSERT_TRUE(ours) << type << " on " << *gpus;
    EXPECT_NEAR(*ours, *rate, *rate * 1e-9) << type << " on " << *gpus;
    ++compared;
  }
  EXPECT_EQ(compared, 83U);
  EXPECT_FALSE(gavel_rate("A3C", 2));
  EXPECT_FALSE(gavel_rate("ResNet-18 (batch size 32)", 3));
  EXPECT_FALSE(gavel_early_rate("ResNet-18"));
}

// The old trace is Philly's virtual cluster 0e4a51: where a job of that log has the same size and came within 2 s, its
// run time is the one that the steps and the early rate give.
TEST(GavelRates, EarlyOnesGiveBackPhillysRunTimes) {
  const std::string path = shared_trace("gavel/msr_seed0_0e4a51.trace.gz");
  COMITY_NEED_TRACE(path)
  const auto gavel = read_trace(path, {});
  const auto philly = read_trace(shared_trace("philly_82k.csv.gz"), {});
  ASSERT_TRUE(gavel && philly);
  constexpr Time kOrigin = 1'943'621 * kSecond;  // of the trace, in the log
  std::multimap<Time, const Row*> by_submit;
  for (const Row& row : philly->rows) {
    if (philly->names[row.request.tenant] == "0e4a51") by_submit.emplace(row.submit - kOrigin, &row);
  }
  std::size_t candidates = 0;
  std::size_t same = 0;
  for (const Row& row : gavel->rows) {
    bool any = false;
    bool hit = false;
    for (auto it = by_submit.lower_bound(row.submit - 2 * kSecond);
         it != by_submit.end() && it->first <= row.submit + 2 * kSecond; ++it) {
      if (it->second->request.shape.total() != row.request.shape.total()) continue;
      any = true;
      hit = hit || std::abs(it->second->duration - row.duration) <= kSecond + row.duration / 100'000;
    }
    candidates += any ? 1 : 0;
    same += hit ? 1 : 0;
  }
  EXPECT_GE(candidates, 500U);
  EXPECT_GE(static_cast<double>(same), 0.9 * static_cast<double>(candidates));
}

// Sia's generator draws the application by the GPU time of the job it stands for: under 1 hour cifar10, to 10 hours
// deepspeech2 or bert, to 100 yolov3, above imagenet. The run times we derive keep to that, near enough at 1 hour.
TEST(SiaProfiles, FallIntoTheClassesOfItsGenerator) {
  const std::map<std::string, std::pair<double, double>> classes = {{"cifar10", {0.1, 1.25}},
                                                                    {"deepspeech2", {1, 10}},
                                                                    {"bert", {1, 10}},
                                                                    {"yolov3", {10, 100}},
                                                                    {"imagenet", {100, 1000}}};
  for (const char* name : {"sia/philly/workload-1.csv", "sia/saturn/workload-1.csv", "sia/newtrace/workload-1.csv"}) {
    const std::string path = shared_trace(name);
    COMITY_NEED_TRACE(path)
    const auto trace = read_trace(path, {});
    ASSERT_TRUE(trace) << trace.error().text();
    for (const Row& row : trace->rows) {
      const std::string& model = trace->names[trace->attributes[row.request.attributes].model];
      const double hours = static_cast<double>(row.request.shape.total()) * to_hours(row.duration);
      const auto [least, most] = classes.at(model);
      EXPECT_GE(hours, least) << model;
      EXPECT_LE(hours, most) << model;
    }
  }
}

}  // namespace
}  // namespace comity::trace
