// SPDX-License-Identifier: Apache-2.0
// The pods of Alibaba's cluster-trace-gpu-v2023 ("openb", openb_pod_list_*.csv; its README has the columns): seconds,
// thousandths of a CPU and of a GPU, memory in MiB.
//
//   submit   = creation_time
//   duration = deletion_time - scheduled_time, wait = scheduled_time - creation_time. A pod that was never scheduled
//              waited until it was deleted: it stays a job, its duration is deletion_time - creation_time and its
//              duration_basis says so. Pods that still ran at the end of the log have that end as deletion_time.
//   gpu_milli: a pod of less than 1000 asks for that share of ONE GPU. The queue twin gives it a whole one.
//   gpu_spec = GPU models it may run on, '|' between them; an attribute, so --nodes runs such pods too
//   class    = qos, status = pod_phase
// Pods of no GPU are counted as other rows. The lists sampled for the placement study (openb_pod_list_multigpu*.csv
// among them) have no times at all: their jobs are read with submission and duration 0 and the basis "not known".
#include <array>

#include "base/text.h"
#include "trace/field_text.h"
#include "trace/table_decoder.h"

namespace comity::trace {
namespace {

enum Col : std::size_t { kName, kCpu, kMemory, kGpus, kMilli, kSpec, kQos, kPhase, kCreation, kDeletion, kScheduled };
constexpr std::array<NamedColumn, 11> kColumns = {{{"name", Field::kId, true},
                                                   {"cpu_milli", Field::kCpuMilli, true},
                                                   {"memory_mib", Field::kHostMemory, true},
                                                   {"num_gpu", Field::kGpus, true},
                                                   {"gpu_milli", Field::kGpuMilli, true},
                                                   {"gpu_spec", Field::kGpuModels},
                                                   {"qos", Field::kClass},
                                                   {"pod_phase", Field::kStatus},
                                                   {"creation_time", Field::kSubmit},
                                                   {"deletion_time", Field::kDuration},
                                                   {"scheduled_time", Field::kWait}}};
constexpr CsvFormat kFormat = {.columns = kColumns, .score = 100, .score_with_others = 0};

class OpenbDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    if (!whole(kGpus, record.gpus, problem)) return Outcome::kBad;
    if (record.gpus == 0) return other("without a GPU", problem);
    const bool fine = store(kName, Field::kId, record, problem) && store(kCpu, Field::kCpuMilli, record, problem) &&
                      store(kMemory, Field::kHostMemory, record, problem) &&
                      store(kSpec, Field::kGpuModels, record, problem) && store(kQos, Field::kClass, record, problem) &&
                      store(kPhase, Field::kStatus, record, problem) && times(record, problem);
    if (!fine || !whole(kMilli, record.gpu_milli, problem)) return Outcome::kBad;
    if (record.gpu_milli == 0 || record.gpu_milli > 1000) return bad(kMilli, "isn't 1 to 1000", problem);
    if (record.gpus > 1 && record.gpu_milli != 1000) return bad(kMilli, "isn't 1000 with several GPUs", problem);
    return Outcome::kRow;
  }

  bool times(Record& record, Problem& problem) const {
    record.submit = record.duration = 0;
    record.wait = -1;
    record.name(Field::kDurationBasis) = {};
    if (!has(kCreation) && !has(kDeletion)) {
      record.name(Field::kDurationBasis) = kNotKnown;
      return true;
    }
    Time deletion = 0;
    Time scheduled = 0;
    if (!time(kCreation, kSecond, record.submit, problem) || !time(kDeletion, kSecond, deletion, problem)) return false;
    if (text(kScheduled).empty()) {
      record.name(Field::kDurationBasis) = kNeverScheduled;
      scheduled = record.submit;
    } else {
      if (!time(kScheduled, kSecond, scheduled, problem)) return false;
      if (scheduled < record.submit) return refuse(kScheduled, "is before creation_time", problem);
      record.wait = scheduled - record.submit;
    }
    if (deletion < scheduled) return refuse(kDeletion, "is before the pod was there", problem);
    record.duration = deletion - scheduled;
    return true;
  }
};

}  // namespace

Format format_openb() {
  return {.name = "openb",
          .description =
              "Alibaba GPU v2023 pods, fractional GPUs: name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,...",
          .detect = [](std::string_view head) { return detect_csv(head, kFormat); },
          .open = [](std::string_view line, const std::string&) { return open_table<OpenbDecoder>(line, kFormat); },
          .refusal = nullptr};
}

}  // namespace comity::trace
