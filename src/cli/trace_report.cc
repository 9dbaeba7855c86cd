// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"

namespace comity::cli {
namespace {

constexpr std::size_t kMostListed = 12;

std::string seconds(double s) { return format_length(from_seconds(s)); }
std::string whole(double v) { return format_count(static_cast<std::uint64_t>(v + 0.5)); }
std::string share(double part, double all) { return all > 0 ? format_double(100 * part / all, 1) + " %" : "-"; }

void put(JsonWriter& json, const char* key, const trace::Distribution& d) {
  json.key(key).begin_object();
  json.field("mean", d.mean).field("min", d.min).field("p10", d.p10).field("p25", d.p25).field("median", d.median);
  json.field("p75", d.p75).field("p90", d.p90).field("p99", d.p99).field("max", d.max).end_object();
}

void put(JsonWriter& json, const char* key, const std::vector<trace::NameUse>& uses) {
  json.key(key).begin_array();
  for (const trace::NameUse& use : uses)
    json.begin_object().field("name", use.name).field("jobs", use.jobs).field("gpu_hours", use.gpu_hours).end_object();
  json.end_array();
}

void put_histogram(JsonWriter& json, const math::Histogram& h) {
  json.key("duration_histogram").begin_object().key("edges_s").begin_array();
  for (const double edge : h.edges) json.number(edge);
  json.end_array().key("jobs").begin_array();
  for (const std::uint64_t count : h.counts) json.unsigned_integer(count);
  json.end_array().field("below", h.below).end_object();
}

void put(JsonWriter& json, const char* key, const char* name, const std::vector<trace::OtherRows>& counts) {
  json.key(key).begin_array();
  for (const trace::OtherRows& rows : counts)
    json.begin_object().field(name, rows.reason).field("count", rows.count).end_object();
  json.end_array();
}

void put_skipped(JsonWriter& json, const TraceSummary& s) {
  json.key("skipped").begin_array();
  for (const trace::SkippedLine& line : s.skipped)
    json.begin_object().field("line", line.line).field("field", line.field).field("reason", line.reason).end_object();
  json.end_array().key("ignored_columns").begin_array();
  for (const std::string& column : s.ignored_columns) json.string(column);
  json.end_array();
  put(json, "other_rows", "reason", s.other_rows);
  put(json, "duration_basis", "basis", s.duration_bases);
}

// The most used of a list, the rest in one line.
Table use_table(const std::string& what, const std::vector<trace::NameUse>& uses, double gpu_hours,
                std::uint64_t more) {
  Table table({{what, false}, {"jobs"}, {"GPU hours"}, {"of all"}});
  for (std::size_t i = 0; i < std::min(kMostListed, uses.size()); ++i) {
    const trace::NameUse& use = uses[i];
    table.add_row({{use.name.empty() ? "(none)" : printable(use.name, 40)},
                   {format_count(use.jobs)},
                   {whole(use.gpu_hours)},
                   {share(use.gpu_hours, gpu_hours)}});
  }
  if (more > 0) table.add_row({{fmt::format("... and {} more", more)}, {""}, {""}, {""}});
  return table;
}

std::string notes(const TraceSummary& s) {
  std::string out;
  if (!s.ignored_columns.empty()) {
    out += "Columns not read:";
    for (const std::string& column : s.ignored_columns) out.append(" ").append(printable(column, 40));
    out += ".\n";
  }
  for (const trace::OtherRows& rows : s.other_rows)
    out += fmt::format("{} rows are no GPU jobs and were left out: {}.\n", format_count(rows.count), rows.reason);
  for (const trace::OtherRows& basis : s.duration_bases)
    out +=
        fmt::format("{} jobs have no run time in the file: {}.\n", format_count(basis.count), printable(basis.reason));
  if (s.skipped_lines > 0) out += fmt::format("{} lines were skipped; the first:\n", format_count(s.skipped_lines));
  for (const trace::SkippedLine& line : s.skipped)
    out += fmt::format("  line {}: {}{}{}\n", line.line, line.field, line.field.empty() ? "" : ": ", line.reason);
  return out;
}

}  // namespace

std::string trace_json(const TraceSummary& s) {
  const trace::TraceStats& t = s.stats;
  JsonWriter json;
  json.begin_object().field("schema", "comity.trace_stats/1").field("path", s.path).field("format", s.format);
  json.field("jobs", t.jobs).field("gpu_hours", t.gpu_hours).field("skipped_lines", s.skipped_lines);
  json.field("span_s", t.span_s).field("first_submit_s", t.first_submit_s);
  json.field("mean_gpus_demanded", t.mean_gpus_demanded).field("mean_gpus", t.mean_gpus).field("max_gpus", t.max_gpus);
  json.field("declared_gpus", s.declared_gpus).field("jobs_with_estimate", t.jobs_with_estimate);
  json.key("sizes").begin_array();
  for (const trace::SizeUse& use : t.sizes)
    json.begin_object().field("gpus", use.gpus).field("jobs", use.jobs).field("gpu_hours", use.gpu_hours).end_object();
  json.end_array();
  put(json, "duration_s", t.duration_s);
  put_histogram(json, t.duration_histogram);
  json.field("jobs_with_wait", t.jobs_with_wait);
  if (t.jobs_with_wait > 0) put(json, "wait_s", t.wait_s);
  put(json, "tenants", t.tenants);
  put(json, "users", t.users);
  json.field("user_count", t.user_count).key("arrivals_by_hour_of_week").begin_array();
  for (const std::uint64_t count : t.arrivals_by_hour_of_week) json.unsigned_integer(count);
  json.end_array();
  put_skipped(json, s);
  return json.end_object().text();
}

std::string trace_text(const TraceSummary& s, bool colour) {
  const trace::TraceStats& t = s.stats;
  std::string out = fmt::format("{} ({})\n", printable(s.path, 400), s.format);
  out += fmt::format("{} jobs, {} GPU hours, submitted over {}: {} GPUs asked for on average\n", format_count(t.jobs),
                     whole(t.gpu_hours), seconds(t.span_s), format_double(t.mean_gpus_demanded, 1));
  if (s.declared_gpus > 0) out += fmt::format("The file states a capacity of {}.\n", format_count(s.declared_gpus));
  out += notes(s);
  const trace::Distribution& d = t.duration_s;
  Table times({{"", false}, {"mean"}, {"p10"}, {"median"}, {"p90"}, {"p99"}, {"longest"}});
  const auto add = [&](const char* what, const trace::Distribution& x) {
    times.add_row({{what},
                   {seconds(x.mean)},
                   {seconds(x.p10)},
                   {seconds(x.median)},
                   {seconds(x.p90)},
                   {seconds(x.p99)},
                   {seconds(x.max)}});
  };
  add("run time", d);
  if (t.jobs_with_wait > 0) add("wait in the log", t.wait_s);
  out.append("\n").append(times.text(colour));
  Table sizes({{"GPUs"}, {"jobs"}, {"of all"}, {"GPU hours"}, {"of all"}});
  for (std::size_t i = 0; i < std::min(kMostListed, t.sizes.size()); ++i) {
    const trace::SizeUse& use = t.sizes[i];
    sizes.add_row({{format_count(use.gpus)},
                   {format_count(use.jobs)},
                   {share(static_cast<double>(use.jobs), static_cast<double>(t.jobs))},
                   {whole(use.gpu_hours)},
                   {share(use.gpu_hours, t.gpu_hours)}});
  }
  out.append("\n").append(sizes.text(colour));
  if (t.sizes.size() > kMostListed)
    out += fmt::format("... and {} larger sizes, up to {} GPUs\n", t.sizes.size() - kMostListed, t.max_gpus);
  const auto more = [](std::uint64_t count) { return count > kMostListed ? count - kMostListed : 0; };
  const auto add_uses = [&](const char* what, const std::vector<trace::NameUse>& uses, std::uint64_t count) {
    if (!uses.empty()) out.append("\n").append(use_table(what, uses, t.gpu_hours, more(count)).text(colour));
  };
  add_uses("tenant", t.tenants, t.tenants.size());
  add_uses("user", t.users, t.user_count);
  return out;
}

Table trace_table(std::span<const TraceSummary> summaries) {
  Table table({{"path", false},
               {"format", false},
               {"jobs"},
               {"gpu_hours"},
               {"span_s"},
               {"mean_gpus_demanded"},
               {"mean_gpus"},
               {"max_gpus"},
               {"duration_mean_s"},
               {"duration_median_s"},
               {"duration_p99_s"},
               {"tenants"},
               {"users"},
               {"skipped_lines"}});
  for (const TraceSummary& s : summaries) {
    const trace::TraceStats& t = s.stats;
    const auto real = [](double v) { return Table::Cell{fmt::format("{}", v), v}; };
    const auto count = [](std::uint64_t v) { return Table::Cell{std::to_string(v), static_cast<double>(v)}; };
    table.add_row({{s.path},
                   {s.format},
                   count(t.jobs),
                   real(t.gpu_hours),
                   real(t.span_s),
                   real(t.mean_gpus_demanded),
                   real(t.mean_gpus),
                   count(t.max_gpus),
                   real(t.duration_s.mean),
                   real(t.duration_s.median),
                   real(t.duration_s.p99),
                   count(t.tenants.size()),
                   count(t.user_count),
                   count(s.skipped_lines)});
  }
  return table;
}

}  // namespace comity::cli
