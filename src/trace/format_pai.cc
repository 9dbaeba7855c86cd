// SPDX-License-Identifier: Apache-2.0
// Alibaba PAI 2020 (cluster-trace-gpu-v2020 of alibaba/clusterdata; its README and its simulator have the columns), in
// two forms. All times are seconds since an origin that keeps the hour of the day and the day of the week.
//
// The simulator's job lists (pai_job_*_100K.csv), with a header:
//   num_gpu, num_cpu: of the whole job, as its simulator takes them; fractions allowed. num_inst is left out, as are
//   the estimates it brings along (user_dur and the like), which know the future of their group.
// The task table (pai_task_table.csv), without a header:
// job_name,task_name,inst_num,status,start_time,end_time,plan_cpu, plan_mem,plan_gpu,gpu_type. A task becomes a job:
// inst_num instances, each with plan_gpu and plan_cpu hundredths and plan_mem GB (2^30 bytes). submit = start_time,
// since the table has no submission; name = job_name. task_name is left out.
//
// GPUs: so many whole ones that the request fits, with the share of each in gpu_milli (1.5 GPUs: 2 of 750 thousandths).
// gpu_type is what the job ran on, not what it asked for: an attribute (gpu_models).
// Other rows, counted: no GPU; not started or not ended when the log was taken.
#include <array>
#include <cmath>

#include "base/csv.h"
#include "base/limits.h"
#include "base/text.h"
#include "trace/table_decoder.h"

namespace comity::trace {
namespace {

enum JobCol : std::size_t { kJob, kUser, kSubmit, kDuration, kGpus, kCpus, kType, kWait, kStatus };
constexpr std::array<NamedColumn, 15> kJobColumns = {{{"job_id", Field::kId, true},
                                                      {"user", Field::kUser},
                                                      {"submit_time", Field::kSubmit, true},
                                                      {"duration", Field::kDuration, true},
                                                      {"num_gpu", Field::kGpus, true},
                                                      {"num_cpu", Field::kCpuMilli, true},
                                                      {"gpu_type", Field::kGpuModels},
                                                      {"wait_time", Field::kWait},
                                                      {"status", Field::kStatus},
                                                      {"num_inst", Field::kIgnored, false, true},
                                                      {"group", Field::kIgnored, false, true},
                                                      {"user_dur", Field::kIgnored, false, true},
                                                      {"user_gpu_dur", Field::kIgnored, false, true},
                                                      {"group_dur", Field::kIgnored, false, true},
                                                      {"group_gpu_dur", Field::kIgnored, false, true}}};
constexpr CsvFormat kJobFormat = {.columns = kJobColumns, .score = 90, .score_with_others = 50};

enum TaskCol : std::size_t {
  kName,
  kTask,
  kInstances,
  kState,
  kStart,
  kEnd,
  kPlanCpu,
  kPlanMemory,
  kPlanGpu,
  kGpuType
};
constexpr std::array<std::string_view, 10> kTaskTitles = {"job_name", "task_name", "inst_num", "status",   "start_time",
                                                          "end_time", "plan_cpu",  "plan_mem", "plan_gpu", "gpu_type"};

// `gpus` GPUs, `times` over, as whole ones and a share of each.
bool set_shares(double gpus, std::int64_t times, Record& record) {
  const double whole = std::ceil(gpus - 1e-9);
  if (!(whole >= 1) || whole * static_cast<double>(times) > static_cast<double>(limits::kGpusPerJob)) return false;
  record.gpus = static_cast<std::int64_t>(whole) * times;
  record.gpu_milli = std::max<std::int64_t>(1, std::llround(gpus * 1000 / whole));
  return true;
}

class PaiJobDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    double gpus = 0;
    double cpus = 0;
    if (!text(kGpus).empty() && !real(kGpus, gpus, problem)) return Outcome::kBad;
    if (gpus == 0) return other("without a GPU", problem);
    const bool fine =
        store(kJob, Field::kId, record, problem) && store(kUser, Field::kUser, record, problem) &&
        store(kSubmit, Field::kSubmit, record, problem) && store(kDuration, Field::kDuration, record, problem) &&
        store(kWait, Field::kWait, record, problem) && store(kType, Field::kGpuModels, record, problem) &&
        store(kStatus, Field::kStatus, record, problem) && (text(kCpus).empty() || real(kCpus, cpus, problem));
    if (!fine) return Outcome::kBad;
    if (cpus > static_cast<double>(kMostCpus)) return bad(kCpus, "is more than a million", problem);
    if (!set_shares(gpus, 1, record)) return bad(kGpus, "is more than a million", problem);
    record.cpu_milli = text(kCpus).empty() ? -1 : std::llround(cpus * 1000);
    return Outcome::kRow;
  }
};

class PaiTaskDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    double percent = 0;
    if (!text(kPlanGpu).empty() && !real(kPlanGpu, percent, problem)) return Outcome::kBad;
    if (percent == 0) return other("without a GPU", problem);
    if (text(kStart).empty()) return other("not started when the log was taken", problem);
    if (text(kEnd).empty()) return other("not ended when the log was taken", problem);
    Time end = 0;
    const bool fine = store(kName, Field::kName, record, problem) && store(kState, Field::kStatus, record, problem) &&
                      store(kGpuType, Field::kGpuModels, record, problem) &&
                      time(kStart, kSecond, record.submit, problem) && time(kEnd, kSecond, end, problem) &&
                      sizes(percent, record, problem);
    if (!fine) return Outcome::kBad;
    if (end < record.submit) return bad(kEnd, "is before start_time", problem);
    record.duration = end - record.submit;
    return Outcome::kRow;
  }

  bool sizes(double percent, Record& record, Problem& problem) const {
    std::int64_t instances = 0;
    double cpus = 0;
    double memory = 0;
    if (!whole(kInstances, instances, problem)) return false;
    if (instances < 1 || instances > limits::kGpusPerJob) return refuse(kInstances, "isn't 1 to a million", problem);
    if (!text(kPlanCpu).empty() && !real(kPlanCpu, cpus, problem)) return false;
    if (!text(kPlanMemory).empty() && !real(kPlanMemory, memory, problem)) return false;
    const auto times = static_cast<double>(instances);
    if (cpus * times > static_cast<double>(kMostCpus) * 100) return refuse(kPlanCpu, "is more than a million", problem);
    if (!set_shares(percent / 100, instances, record)) return refuse(kPlanGpu, "is more than a million", problem);
    record.cpu_milli = text(kPlanCpu).empty() ? -1 : std::llround(cpus * 10 * times);
    record.host_memory_mb = text(kPlanMemory).empty() ? -1 : memory * 1024 * times;
    return true;
  }
};

// A line of the task table: ten fields, a state, and numbers where they belong.
bool is_task(std::string_view line) {
  std::vector<std::string_view> fields;
  std::string scratch;
  if (!split_csv(line, ',', fields, scratch) || fields.size() != kTaskTitles.size()) return false;
  const auto number = [&](TaskCol c) { return trim(fields[c]).empty() || parse_double(trim(fields[c])).has_value(); };
  constexpr std::array<std::string_view, 5> kStates = {"Terminated", "Failed", "Running", "Waiting", "Interrupted"};
  return std::find(kStates.begin(), kStates.end(), trim(fields[kState])) != kStates.end() && number(kInstances) &&
         number(kStart) && number(kEnd) && number(kPlanCpu) && number(kPlanMemory) && number(kPlanGpu);
}

bool is_task_header(std::string_view line) {
  const std::vector<std::string> titles = header_titles(line, ',');
  return std::equal(titles.begin(), titles.end(), kTaskTitles.begin(), kTaskTitles.end());
}

int detect(std::string_view head) {
  const std::string_view line = first_line_of(head);
  return is_task_header(line) || is_task(line) ? 90 : detect_csv(head, kJobFormat);
}

Result<Opened> open(std::string_view line, const std::string& /*columns*/) {
  const bool header = is_task_header(line);
  if (!header && !is_task(line)) return open_table<PaiJobDecoder>(line, kJobFormat);
  Opened opened;
  opened.header = header;
  opened.decoder = std::make_unique<PaiTaskDecoder>(table_layout(kTaskTitles, ','));
  opened.ignored_columns = {"task_name"};
  return opened;
}

}  // namespace

Format format_pai() {
  return {.name = "pai",
          .description = "Alibaba PAI 2020: its simulator's job lists, or pai_task_table.csv",
          .detect = detect,
          .open = open,
          .refusal = nullptr};
}

}  // namespace comity::trace
