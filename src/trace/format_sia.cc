// SPDX-License-Identifier: Apache-2.0
// Workloads of Sia's artifact (siasosp23/artifacts, sia-simulator/workloads; also Pollux's, which have the same
// columns): seconds. A job names an application, how many replicas its user would ask for and the batch size that goes
// with them.
//
// duration: NOT in the file; Sia resizes its jobs, and their speed follows. It is how long the job takes with the GPUs
// and the batch size that its line asks for, alone on the artifact's "rtx" nodes of 8 GPUs, by the artifact's own rules
// and profiles (get_throughput_with_accum() of its applications.py; iterations of the validation runs, which come from
// petuum/adaptdl):
//
//   iterations x (step + accumulations x (step - sync))
//
// The table has every combination that the workloads philly, saturn and newtrace ask for; step and sync are
// interpolated between the profiled batch sizes. The slowdown by which Sia matches its simulator to a real cluster is
// not in it. This is a reconstruction, and each job's duration_basis says so. A combination that is not in the table is
// a bad line. model = application, id = name.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "trace/table_decoder.h"

namespace comity::trace {
namespace {

struct Profile {
  std::string_view application;
  std::int64_t replicas;
  std::int64_t batch;
  std::int64_t iterations;  // to the end of the application's last epoch at this batch size
  int accumulations;        // passes before each synchronisation, beside the last
  double step_s;            // one pass with synchronisation
  double sync_s;            // what the synchronisation adds
};

constexpr std::array<Profile, 18> kProfiles = {{
    {"bert", 6, 384, 480, 5, 0.815044, 0.440725},
    {"bert", 8, 384, 480, 3, 0.843282, 0.409374},
    {"bert", 12, 384, 480, 2, 0.896128, 0.513036},
    {"bert", 16, 384, 480, 1, 0.999136, 0.555533},
    {"cifar10", 4, 2048, 3178, 0, 0.177805, 0.013620},
    {"cifar10", 6, 2048, 3178, 0, 0.133926, 0.011995},
    {"cifar10", 8, 2048, 3178, 0, 0.115096, 0.011395},
    {"cifar10", 8, 4096, 2011, 0, 0.180855, 0.012869},
    {"cifar10", 10, 4096, 2011, 0, 0.159237, 0.018547},
    {"cifar10", 12, 4096, 2011, 0, 0.142620, 0.023872},
    {"cifar10", 16, 4096, 2011, 0, 0.137535, 0.034959},
    {"deepspeech2", 6, 320, 2264, 0, 1.179259, 0.084816},
    {"deepspeech2", 8, 320, 2264, 0, 0.945005, 0.080652},
    {"deepspeech2", 12, 640, 1423, 1, 0.835274, 0.106317},
    {"imagenet", 10, 1600, 78453, 0, 0.548853, 0.070999},
    {"imagenet", 12, 3200, 42123, 1, 0.468655, 0.095275},
    {"imagenet", 14, 3200, 42123, 1, 0.409022, 0.101867},
    {"yolov3", 4, 64, 14577, 1, 0.728692, 0.271079},
}};

enum Col : std::size_t { kName, kTime, kApplication, kReplicas, kBatch };
constexpr std::array<NamedColumn, 5> kColumns = {{{"name", Field::kId, true},
                                                  {"time", Field::kSubmit, true},
                                                  {"application", Field::kModel, true},
                                                  {"num_replicas", Field::kGpus, true},
                                                  {"batch_size", Field::kBatchSize, true}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

class SiaDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    const bool fine = store(kName, Field::kId, record, problem) && store(kTime, Field::kSubmit, record, problem) &&
                      store(kApplication, Field::kModel, record, problem) && whole(kReplicas, record.gpus, problem) &&
                      whole(kBatch, record.batch_size, problem);
    if (!fine) return Outcome::kBad;
    const auto known = std::find_if(kProfiles.begin(), kProfiles.end(), [&](const Profile& p) {
      return p.application == text(kApplication) && p.replicas == record.gpus && p.batch == record.batch_size;
    });
    if (known == kProfiles.end()) {
      return bad(kApplication,
                 fmt::format("the file has no run times, and none is known for {} replicas at batch size {} of",
                             record.gpus, record.batch_size),
                 problem);
    }
    const double iteration = known->step_s + known->accumulations * (known->step_s - known->sync_s);
    record.duration = from_seconds(static_cast<double>(known->iterations) * iteration);
    record.name(Field::kDurationBasis) = "Sia's profile on rtx";
    return Outcome::kRow;
  }
};

}  // namespace

Format format_sia() {
  return {.name = "sia",
          .description = "Sia's workloads: name,time,application,num_replicas,batch_size; run times from its profiles",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_table<SiaDecoder>(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
