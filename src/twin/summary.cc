// SPDX-License-Identifier: Apache-2.0
#include "twin/summary.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/text.h"

namespace comity::twin {
namespace {

Table::Cell seconds(double v) { return {format_double(v, 2), v}; }
Table::Cell whole(std::uint64_t v) { return {format_count(v), static_cast<double>(v)}; }

void write_run(JsonWriter& json, const RunResult& run) {
  json.begin_object().field("policy", run.policy).key("parameters").begin_object();
  for (const auto& [name, value] : run.parameters) json.field(name, value);
  json.end_object();
  json.field("submitted", run.submitted).field("finished", run.finished).field("rejected", run.rejected);
  json.field("unfinished", run.unfinished).field("stopped", run.stopped);
  json.field("avg_jct_s", run.avg_jct_s).field("median_jct_s", run.median_jct_s).field("p99_jct_s", run.p99_jct_s);
  json.field("avg_queue_s", run.avg_queue_s).field("median_queue_s", run.median_queue_s);
  json.field("p99_queue_s", run.p99_queue_s).field("max_queue_s", run.max_queue_s);
  json.field("makespan_s", run.makespan_s).field("preemptions", run.preemptions);
  json.field("co_located", run.shared).field("migrations", run.migrations);
  json.field("gpu_utilization", run.gpu_utilization).field("events", run.events).field("wall_s", run.wall_s);
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
  Table table({{"policy", false, Best::kNone},
               {"avg JCT s", true, Best::kLowest},
               {"median JCT s", true, Best::kLowest},
               {"p99 JCT s", true, Best::kLowest},
               {"avg queue s", true, Best::kLowest},
               {"p99 queue s", true, Best::kLowest},
               {"max queue s", true, Best::kLowest},
               {"makespan s", true, Best::kLowest},
               {"GPU use %", true, Best::kHighest},
               {"preempted", true, Best::kNone},
               {"rejected", true, Best::kNone},
               {"wall s", true, Best::kNone}});
  for (const RunResult& run : summary.runs) {
    const double use = 100 * run.gpu_utilization;
    table.add_row({{run.policy},
                   seconds(run.avg_jct_s),
                   seconds(run.median_jct_s),
                   seconds(run.p99_jct_s),
                   seconds(run.avg_queue_s),
                   seconds(run.p99_queue_s),
                   seconds(run.max_queue_s),
                   seconds(run.makespan_s),
                   {format_double(use, 1), use},
                   whole(run.preemptions),
                   whole(run.rejected),
                   {format_double(run.wall_s, 3), run.wall_s}});
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
  if (partial) json.field("partial", true);
  json.end_object();
  return json.text() + "\n";
}

std::string to_csv(const ReplaySummary& summary) {
  std::string out =
      "policy,submitted,finished,stopped,rejected,unfinished,avg_jct_s,median_jct_s,p99_jct_s,avg_queue_s,p99_queue_s,"
      "max_queue_s,makespan_s,preemptions,gpu_utilization,events,wall_s,fingerprint\n";
  for (const RunResult& r : summary.runs) {
    append_csv(out, r.policy);
    out += fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", r.submitted, r.finished, r.stopped,
                       r.rejected, r.unfinished, r.avg_jct_s, r.median_jct_s, r.p99_jct_s, r.avg_queue_s, r.p99_queue_s,
                       r.max_queue_s, r.makespan_s, r.preemptions, r.gpu_utilization, r.events, r.wall_s,
                       hex64(r.fingerprint));
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
