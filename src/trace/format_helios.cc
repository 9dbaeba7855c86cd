// SPDX-License-Identifier: Apache-2.0
// Helios, SenseTime's clusters of 2020 (cluster_log.csv of S-Lab-System-Group/HeliosData; its README has the columns):
// one line a Slurm job, times of day without a zone, durations in seconds.
//
//   submit   = submit_time, seconds since 1970 of the log's clock       duration = duration, wait = queue
//   shape    = node_num nodes with gpu_num / node_num GPUs each; GPUs anywhere where that isn't whole
//   tenant   = vc                                                       CPUs = cpu_num, of the whole job
// Jobs without a GPU are counted as other rows. Left out: start_time and end_time (submission + queue + duration).
#include <array>

#include "trace/table_decoder.h"

namespace comity::trace {
namespace {

enum Col : std::size_t { kJob, kUser, kVc, kGpus, kCpus, kNodes, kState, kSubmit, kStart, kEnd, kDuration, kQueue };
constexpr std::array<NamedColumn, 12> kColumns = {{{"job_id", Field::kId, true},
                                                   {"user", Field::kUser},
                                                   {"vc", Field::kTenant, true},
                                                   {"gpu_num", Field::kGpus, true},
                                                   {"cpu_num", Field::kCpuMilli},
                                                   {"node_num", Field::kNodes, true},
                                                   {"state", Field::kStatus, true},
                                                   {"submit_time", Field::kSubmit, true},
                                                   {"start_time", Field::kIgnored, false, true},
                                                   {"end_time", Field::kIgnored, false, true},
                                                   {"duration", Field::kDuration, true},
                                                   {"queue", Field::kWait}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

class HeliosDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    std::int64_t gpus = 0;
    if (!whole(kGpus, gpus, problem)) return Outcome::kBad;
    if (gpus == 0) return other("without a GPU", problem);
    std::int64_t nodes = 0;
    std::int64_t cpus = 0;
    const bool fine = store(kJob, Field::kId, record, problem) && store(kUser, Field::kUser, record, problem) &&
                      store(kVc, Field::kTenant, record, problem) && store(kState, Field::kStatus, record, problem) &&
                      civil(kSubmit, record.submit, problem) && store(kDuration, Field::kDuration, record, problem) &&
                      store(kQueue, Field::kWait, record, problem) && whole(kNodes, nodes, problem) &&
                      (!has(kCpus) || whole(kCpus, cpus, problem));
    if (!fine) return Outcome::kBad;
    if (cpus > kMostCpus) return bad(kCpus, "is more than a million", problem);
    record.cpu_milli = has(kCpus) ? cpus * 1000 : -1;
    set_shape(record, gpus, nodes);
    return Outcome::kRow;
  }
};

}  // namespace

Format format_helios() {
  return {
      .name = "helios",
      .description = "Helios clusters (SenseTime 2020): job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,...",
      .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
      .open = [](std::string_view line, const std::string&) { return open_table<HeliosDecoder>(line, kFormat); },
      .refusal = nullptr};
}

}  // namespace comity::trace
