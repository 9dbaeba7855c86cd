// SPDX-License-Identifier: Apache-2.0
// ACME, the clusters Seren and Kalos of Shanghai AI Laboratory in 2023 (trace_seren.csv and trace_kalos.csv of
// InternLM/AcmeTrace; its README has the columns): one line a job, times with their zone.
//
//   submit   = submit_time, seconds since 1970 UTC
//   duration = end_time - start_time, wait = start_time - submit_time. The columns duration and queue say the same of
//              Seren; in Kalos's lines, as its README shows them, duration counts from the submission. They are read
//              only where a time is missing.
//   shape    = node_num nodes with gpu_num / node_num GPUs each; GPUs anywhere where that isn't whole
//   class    = type (Pretrain, Evaluation, ...)      CPUs = cpu_num      memory = mem_per_pod_GB, of 2^30 bytes, x
//   nodes
// Other rows, counted: jobs without a GPU, jobs that hadn't started or hadn't ended when the log was taken.
// Left out: fail_time, stop_time, shared_mem_per_pod, gpu_time.
#include <array>

#include "trace/table_decoder.h"

namespace comity::trace {
namespace {

enum Col : std::size_t {
  kJob,
  kUser,
  kNodes,
  kGpus,
  kCpus,
  kMemory,
  kShared,
  kType,
  kState,
  kSubmit,
  kStart,
  kEnd,
  kFail,
  kStop,
  kDuration,
  kQueue,
  kGpuTime
};
constexpr std::array<NamedColumn, 17> kColumns = {{{"job_id", Field::kId, true},
                                                   {"user", Field::kUser},
                                                   {"node_num", Field::kNodes, true},
                                                   {"gpu_num", Field::kGpus, true},
                                                   {"cpu_num", Field::kCpuMilli},
                                                   {"mem_per_pod_GB", Field::kHostMemory},
                                                   {"shared_mem_per_pod", Field::kIgnored, false, true},
                                                   {"type", Field::kClass, true},
                                                   {"state", Field::kStatus, true},
                                                   {"submit_time", Field::kSubmit, true},
                                                   {"start_time", Field::kWait, true},
                                                   {"end_time", Field::kDuration, true},
                                                   {"fail_time", Field::kIgnored, false, true},
                                                   {"stop_time", Field::kIgnored, false, true},
                                                   {"duration", Field::kDuration, true},
                                                   {"queue", Field::kWait},
                                                   {"gpu_time", Field::kIgnored, false, true}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

class AcmeDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    std::int64_t gpus = 0;
    if (!whole(kGpus, gpus, problem)) return Outcome::kBad;
    if (gpus == 0) return other("without a GPU", problem);
    if (text(kStart).empty() && text(kDuration).empty()) return other("not started when the log was taken", problem);
    if (text(kEnd).empty() && text(kDuration).empty()) return other("not ended when the log was taken", problem);
    const bool fine = store(kJob, Field::kId, record, problem) && store(kUser, Field::kUser, record, problem) &&
                      store(kType, Field::kClass, record, problem) && store(kState, Field::kStatus, record, problem) &&
                      times(record, problem) && sizes(gpus, record, problem);
    return fine ? Outcome::kRow : Outcome::kBad;
  }

  bool times(Record& record, Problem& problem) const {
    Time start = -1;
    Time end = -1;
    if (!civil(kSubmit, record.submit, problem)) return false;
    if (!text(kStart).empty() && !civil(kStart, start, problem)) return false;
    if (!text(kEnd).empty() && !civil(kEnd, end, problem)) return false;
    if (start >= 0 && start < record.submit) return refuse(kStart, "is before the submission", problem);
    if (start >= 0 && end >= 0 && end < start) return refuse(kEnd, "is before the start", problem);
    record.wait = start - record.submit;
    record.duration = end - start;
    if (start < 0 && !store(kQueue, Field::kWait, record, problem)) return false;
    return (start >= 0 && end >= 0) || store(kDuration, Field::kDuration, record, problem);
  }

  bool sizes(std::int64_t gpus, Record& record, Problem& problem) const {
    std::int64_t nodes = 0;
    std::int64_t cpus = 0;
    double memory_gb = 0;
    if (!whole(kNodes, nodes, problem)) return false;
    if (!text(kCpus).empty() && !whole(kCpus, cpus, problem)) return false;
    if (!text(kMemory).empty() && !real(kMemory, memory_gb, problem)) return false;
    if (cpus > kMostCpus) return refuse(kCpus, "is more than a million", problem);
    record.cpu_milli = text(kCpus).empty() ? -1 : cpus * 1000;
    record.host_memory_mb = text(kMemory).empty() ? -1 : memory_gb * 1024 * static_cast<double>(nodes);
    set_shape(record, gpus, nodes);
    return true;
  }
};

}  // namespace

Format format_acme() {
  return {.name = "acme",
          .description = "ACME clusters Seren and Kalos (2023): job_id,user,node_num,gpu_num,cpu_num,type,state,...",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_table<AcmeDecoder>(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
