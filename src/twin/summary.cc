// SPDX-License-Identifier: Apache-2.0
#include "twin/summary.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/text.h"

namespace comity::twin {
namespace {

// Of a run in which no job has ended there is nothing to tell; "0.00" would be a result.
bool has_results(const RunResult& run) { return run.finished + run.stopped > 0; }

// What an interrupted run has come to is shown, but it is the best of nothing.
Table::Cell seconds(const RunResult& run, double v, int digits = 2) {
  if (!has_results(run)) return {"-"};
  return {format_double(v, digits), run.partial ? std::numeric_limits<double>::quiet_NaN() : v};
}
Table::Cell whole(std::uint64_t v) { return {format_count(v), static_cast<double>(v)}; }

void write_fairness(JsonWriter& json, const sched::Fairness& f) {
  json.key("fairness").begin_object().field("rho_in_band", f.rho_in_band).field("sharing_loss", f.sharing_loss);
  json.field("sharing_benefit", f.sharing_benefit).field("lease_cancels", f.lease_cancels);
  json.field("lease_expiries", f.lease_expiries).end_object();
  json.key("tenants").begin_array();
  for (const sched::Fairness::Tenant& t : f.tenants)
    json.begin_object().field("name", t.name).field("ltgf", t.ltgf).field("gpu_hours", t.gpu_hours).end_object();
  json.end_array();
}

void write_run(JsonWriter& json, const RunResult& run) {
  json.begin_object().field("policy", run.policy).key("parameters").begin_object();
  for (const auto& [name, value] : run.parameters) json.field(name, value);
  json.end_object();
  json.field("submitted", run.submitted).field("finished", run.finished).field("rejected", run.rejected);
  json.field("unfinished", run.unfinished).field("stopped", run.stopped);
  const auto result = [&](std::string_view name, double v) {
    json.key(name).number(has_results(run) ? v : std::numeric_limits<double>::quiet_NaN());
  };
  result("avg_jct_s", run.avg_jct_s);
  result("median_jct_s", run.median_jct_s);
  result("p99_jct_s", run.p99_jct_s);
  result("avg_queue_s", run.avg_queue_s);
  result("median_queue_s", run.median_queue_s);
  result("p99_queue_s", run.p99_queue_s);
  result("max_queue_s", run.max_queue_s);
  result("makespan_s", run.makespan_s);
  json.field("preemptions", run.preemptions);
  json.field("co_located", run.shared).field("migrations", run.migrations);
  json.field("resizes", run.resizes);
  if (!run.policy_figures.empty()) {
    json.key("policy_figures").begin_object();
    for (const auto& [name, value] : run.policy_figures) json.field(name, value);
    json.end_object();
  }
  if (run.deadlines.jobs > 0) {
    json.field("slo_jobs", run.deadlines.jobs).field("slo_missed", run.deadlines.missed);
    json.field("slo_miss_ratio", run.deadlines.miss_ratio()).field("slo_avg_jct_s", run.deadlines.avg_jct_s());
    if (run.deadlines.others_ended > 0) json.field("best_effort_avg_jct_s", run.deadlines.avg_others_jct_s());
  }
  if (run.fairness) write_fairness(json, *run.fairness);
  result("gpu_utilization", run.gpu_utilization);
  json.field("events", run.events).field("wall_s", run.wall_s);
  json.field("peak_rss_bytes", run.peak_rss_bytes).field("fingerprint", hex64(run.fingerprint));
  if (run.partial) json.field("partial", true);
  if (!run.rejections.empty()) {
    json.key("rejections").begin_array();
    for (const Rejection& r : run.rejections) {
      json.begin_object().field("reason", r.reason).field("jobs", r.jobs).key("examples").begin_array();
      for (const std::string& id : r.examples) json.string(id);
      json.end_array().end_object();
    }
    json.end_array();
  }
  json.end_object();
}

}  // namespace

Table to_table(const ReplaySummary& summary) {
  using Best = Table::Best;
  const bool stopped =
      std::any_of(summary.runs.begin(), summary.runs.end(), [](const RunResult& run) { return run.stopped > 0; });
  std::vector<Table::Column> columns = {
      {"policy", false, Best::kNone},       {"avg JCT s", true, Best::kLowest},   {"median JCT s", true, Best::kLowest},
      {"p99 JCT s", true, Best::kLowest},   {"avg queue s", true, Best::kLowest}, {"p99 queue s", true, Best::kLowest},
      {"max queue s", true, Best::kLowest}, {"makespan s", true, Best::kLowest},  {"GPU use %", true, Best::kHighest},
      {"preempted", true, Best::kNone},     {"rejected", true, Best::kNone},      {"wall s", true, Best::kNone}};
  if (stopped) columns.insert(columns.end() - 2, {"stopped", true, Best::kNone});
  const bool deadlines = std::any_of(summary.runs.begin(), summary.runs.end(),
                                     [](const RunResult& run) { return run.deadlines.jobs > 0; });
  if (deadlines) columns.insert(columns.end() - 1, {"value missed %", true, Best::kLowest});
  Table table(std::move(columns));
  for (const RunResult& run : summary.runs) {
    std::vector<Table::Cell> cells = {{run.policy + (run.partial ? " (partial)" : "")},
                                      seconds(run, run.avg_jct_s),
                                      seconds(run, run.median_jct_s),
                                      seconds(run, run.p99_jct_s),
                                      seconds(run, run.avg_queue_s),
                                      seconds(run, run.p99_queue_s),
                                      seconds(run, run.max_queue_s),
                                      seconds(run, run.makespan_s),
                                      seconds(run, 100 * run.gpu_utilization, 1),
                                      whole(run.preemptions),
                                      whole(run.rejected),
                                      {format_double(run.wall_s, 3), run.wall_s}};
    if (stopped) cells.insert(cells.end() - 2, whole(run.stopped));
    if (deadlines) cells.insert(cells.end() - 1, seconds(run, 100 * run.deadlines.miss_ratio()));
    table.add_row(std::move(cells));
  }
  return table;
}

std::string to_json(const ReplaySummary& summary) {
  JsonWriter json;
  const trace::Trace& trace = *summary.trace;
  json.begin_object().field("schema", "comity.replay/1").key("trace").begin_object();
  json.field("path", trace.path).field("format", trace.format).field("jobs", trace.rows.size());
  json.field("gpu_hours", trace.gpu_hours())
      .field("skipped_lines", trace.skipped_lines)
      .field("load_s", summary.load_s);
  if (!trace.skipped.empty()) {
    json.key("skipped").begin_array();
    for (const trace::SkippedLine& line : trace.skipped) {
      json.begin_object().field("line", line.line).field("field", line.field).field("reason", line.reason).end_object();
    }
    json.end_array();
  }
  json.end_object().key("cluster").begin_object();
  json.field("nodes", summary.nodes).field("gpus", summary.gpus).field("placement", summary.placement);
  json.end_object().key("runs").begin_array();
  bool partial = false;
  for (const RunResult& run : summary.runs) {
    write_run(json, run);
    partial = partial || run.partial;
  }
  json.end_array();
  if (!summary.notes.empty()) {
    json.key("notes").begin_array();
    for (const std::string& note : summary.notes) json.string(note);
    json.end_array();
  }
  if (partial) json.field("partial", true);
  json.end_object();
  return json.text() + "\n";
}

std::string to_csv(const ReplaySummary& summary) {
  std::string out =
      "policy,submitted,finished,stopped,rejected,unfinished,avg_jct_s,median_jct_s,p99_jct_s,avg_queue_s,p99_queue_s,"
      "max_queue_s,makespan_s,preemptions,gpu_utilization,events,wall_s,fingerprint,partial\n";
  for (const RunResult& r : summary.runs) {
    append_csv(out, r.policy);
    out += fmt::format(",{},{},{},{},{}", r.submitted, r.finished, r.stopped, r.rejected, r.unfinished);
    const auto result = [&](double v) { out += has_results(r) ? fmt::format(",{}", v) : ","; };
    for (const double v :
         {r.avg_jct_s, r.median_jct_s, r.p99_jct_s, r.avg_queue_s, r.p99_queue_s, r.max_queue_s, r.makespan_s})
      result(v);
    out += fmt::format(",{}", r.preemptions);
    result(r.gpu_utilization);
    out += fmt::format(",{},{},{},{}\n", r.events, r.wall_s, hex64(r.fingerprint), r.partial);
  }
  return out;
}

std::string series_csv(const ReplaySummary& summary) {
  std::string out = "policy,begin_s,end_s,gpus_used,gpus_waiting,jobs_waiting,jobs_running\n";
  for (const RunResult& run : summary.runs) {
    if (run.detail.empty()) continue;
    const sim::BinnedSeries& s = run.detail.front().series;
    for (std::size_t bin = 0; bin < s.size(); ++bin) {
      append_csv(out, run.policy);
      out += fmt::format(",{},{}", to_seconds(s.bin_begin(bin)), to_seconds(s.bin_end(bin)));
      for (std::size_t c = 0; c < s.channels(); ++c) out += fmt::format(",{}", s.mean(c, bin));
      out += '\n';
    }
  }
  return out;
}

std::string jobs_csv(const ReplaySummary& summary, const Workload& workload) {
  std::string out = "policy,job_id,user,tenant,gpus,submit_s,first_start_s,end_s,ran_s,queue_s,preemptions,state\n";
  const auto name = [&](std::uint32_t n) { return n == profile::kNoName ? std::string() : workload.trace().names[n]; };
  for (const RunResult& run : summary.runs) {
    if (run.detail.empty()) continue;
    for (std::size_t job = 0; job < run.detail.front().jobs.size(); ++job) {
      const JobOutcome& o = run.detail.front().jobs[job];
      const trace::Row& row = workload.row(job);
      append_csv(out, run.policy);
      out += ',';
      append_csv(out, workload.id_text(job));
      out += ',';
      append_csv(out, name(row.request.user));
      out += ',';
      append_csv(out, name(row.request.tenant));
      out += fmt::format(",{},{}", row.request.shape.total(), to_seconds(row.submit));
      if (o.end < 0) {
        out += fmt::format(",,,,,{},{}\n", o.preemptions, o.first_start < 0 ? "not_run" : "unfinished");
        continue;
      }
      out += fmt::format(",{},{},{},{},{},{}\n", to_seconds(o.first_start), to_seconds(o.end), to_seconds(o.ran),
                         to_seconds(o.end - row.submit - o.ran), o.preemptions, o.stopped ? "stopped" : "finished");
    }
  }
  return out;
}

}  // namespace comity::twin
