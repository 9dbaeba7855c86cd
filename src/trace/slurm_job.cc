// SPDX-License-Identifier: Apache-2.0
#include "trace/slurm_job.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "trace/field_text.h"

namespace comity::trace {
namespace {

constexpr std::string_view kGpuPlugin = "7696487";  // g + p * 2^8 + u * 2^16

enum class Phase : std::uint8_t { kUnknown, kWaiting, kRunning, kEnded, kRevoked };

struct NamedPhase {
  std::string_view state;
  Phase phase;
};
// slurm.h, enum job_states and the JOB_ flags; sacct(1), JOB STATE CODES. A run that ended by a requeue is REQUEUED.
constexpr std::array<NamedPhase, 29> kPhases = {
    {{"BOOT_FAIL", Phase::kEnded},       {"CANCELLED", Phase::kEnded},       {"COMPLETED", Phase::kEnded},
     {"COMPLETING", Phase::kRunning},    {"CONFIGURING", Phase::kRunning},   {"DEADLINE", Phase::kEnded},
     {"EXPEDITING", Phase::kRunning},    {"FAILED", Phase::kEnded},          {"LAUNCH_FAILED", Phase::kEnded},
     {"NODE_FAIL", Phase::kEnded},       {"OUT_OF_MEMORY", Phase::kEnded},   {"PENDING", Phase::kWaiting},
     {"POWER_UP_NODE", Phase::kRunning}, {"PREEMPTED", Phase::kEnded},       {"RECONFIG_FAIL", Phase::kEnded},
     {"REQUEUED", Phase::kEnded},        {"REQUEUE_FED", Phase::kWaiting},   {"REQUEUE_HOLD", Phase::kWaiting},
     {"RESIZING", Phase::kEnded},        {"RESV_DEL_HOLD", Phase::kWaiting}, {"REVOKED", Phase::kRevoked},
     {"RUNNING", Phase::kRunning},       {"SIGNALING", Phase::kRunning},     {"SPECIAL_EXIT", Phase::kEnded},
     {"STAGE_OUT", Phase::kRunning},     {"STOPPED", Phase::kRunning},       {"SUSPENDED", Phase::kRunning},
     {"TIMEOUT", Phase::kEnded},         {"UPDATE_DB", Phase::kRunning}}};

// "CANCELLED by 1000" is CANCELLED.
Phase phase_of(std::string_view state) {
  state = state.substr(0, state.find(' '));
  const auto same = [&](const NamedPhase& named) { return named.state == state; };
  const auto it = std::find_if(kPhases.begin(), kPhases.end(), same);
  return it == kPhases.end() ? Phase::kUnknown : it->phase;
}

bool parse_count(std::string_view text, std::int64_t& count) {
  const auto value = parse_int(text);
  if (!value || *value < 0 || *value > limits::kGpusPerJob) return false;
  count = *value;
  return true;
}

// Adds `count` GPUs of a named type.
void add_typed(std::string_view type, std::int64_t count, std::int64_t& sum, Tres& tres) {
  if (count == 0) return;
  tres.gpu_type = sum == 0 || tres.gpu_type == type ? type : std::string_view();
  sum += count;
}

Decoder::Outcome other(Problem& problem, const char* reason) {
  problem.message = reason;
  return Decoder::Outcome::kNoRow;
}

Decoder::Outcome bad(Problem& problem, const char* field, std::string message) {
  problem = {.field = field, .message = std::move(message)};
  return Decoder::Outcome::kBad;
}

// Why this record is no job that ran and ended on GPUs; null when it is one.
const char* why_no_job(const SlurmJob& job, Phase phase) {
  if (phase == Phase::kRevoked) return "a revoked sibling of a federated job";
  if (phase == Phase::kWaiting) return "a job that still waits";
  if (job.has_start && job.start < 0) {
    return phase == Phase::kRunning ? "a job that still runs" : "a job that ended before it started";
  }
  if (phase == Phase::kRunning || (job.has_end && job.end < 0)) return "a job that still runs";
  if (job.gpus == 0) return job.elapsed > 0 ? "a job without GPUs" : "a job without GPUs, or that never started";
  return nullptr;
}

}  // namespace

bool parse_tres(std::string_view text, Tres& tres) {
  tres = {};
  constexpr std::string_view kGpu = "gres/gpu";
  std::int64_t typed = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = item.substr(0, equals);
    const std::string_view value = item.substr(equals + 1);
    std::int64_t count = 0;
    if (name == "node") {
      if (!parse_count(value, tres.nodes)) return false;
    } else if (name == kGpu) {
      if (!parse_count(value, tres.gpus)) return false;
    } else if (name.starts_with(kGpu) && name.size() > kGpu.size() + 1 && name[kGpu.size()] == ':') {
      if (!parse_count(value, count)) return false;
      add_typed(name.substr(kGpu.size() + 1), count, typed, tres);
    }
  }
  if (tres.gpus == 0) tres.gpus = typed;
  if (typed != tres.gpus) tres.gpu_type = {};
  return true;
}

bool parse_gres(std::string_view text, Tres& tres) {
  tres = {};
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    item = item.substr(0, item.find('('));  // "gpu:2(IDX:0-1)"
    const std::string_view name = item.substr(0, item.find(':'));
    if (name != "gpu" && name != kGpuPlugin) continue;
    item.remove_prefix(std::min(name.size() + 1, item.size()));
    const std::size_t colon = item.rfind(':');
    const std::string_view last = colon == std::string_view::npos ? item : item.substr(colon + 1);
    std::int64_t count = 1;
    if (!last.empty() && (last.front() >= '0' && last.front() <= '9')) {
      if (!parse_count(last, count)) return false;
      item = colon == std::string_view::npos ? std::string_view() : item.substr(0, colon);
    }
    add_typed(item, count, tres.gpus, tres);
  }
  return true;
}

Decoder::Outcome slurm_record(const SlurmJob& job, Record& record, Problem& problem) {
  const Phase phase = job.state.empty() ? Phase::kEnded : phase_of(job.state);
  if (phase == Phase::kUnknown && (!job.has_end || job.end < 0))
    return bad(problem, "State", fmt::format("is no state of a Slurm job: '{}'", printable(job.state)));
  if (const char* reason = why_no_job(job, phase)) return other(problem, reason);
  if (job.submit < 0) return bad(problem, "Submit", "is not known");
  record.duration = job.elapsed;
  if (record.duration < 0 && job.start >= 0 && job.end >= 0) record.duration = job.end - job.start;
  if (record.duration < 0) return bad(problem, "Elapsed", "is not known, and End and Start do not give it");
  record.submit = std::max(job.submit, job.eligible);
  record.wait = job.start >= record.submit ? job.start - record.submit : -1;
  record.estimate = job.limit;
  record.gpus = job.gpus;
  record.nodes = job.nodes > 0 && job.gpus % job.nodes == 0 ? job.nodes : 0;
  record.gpus_per_node = 0;
  record.name(Field::kUser) = job.user;
  record.name(Field::kTenant) = job.account;
  record.name(Field::kName) = job.name;
  record.name(Field::kGpuType) = job.gpu_type;
  for (const Field field : {Field::kUser, Field::kTenant, Field::kName, Field::kGpuType}) {
    if (record.name(field).size() > limits::kNameBytes) return bad(problem, "", "a name is longer than 4096 bytes");
  }
  if (store_text(Field::kId, job.id, record, problem)) return Decoder::Outcome::kRow;
  problem.field = "JobID";
  return Decoder::Outcome::kBad;
}

}  // namespace comity::trace
