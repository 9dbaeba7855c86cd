// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_output.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"

namespace comity::cli {
namespace {

// Policies often reject the same jobs for the same reason: one line for all of them.
std::string rejections(const twin::ReplaySummary& summary) {
  struct Line {
    const twin::Rejection* rejection;
    std::vector<std::string> policies;
  };
  std::vector<Line> lines;
  for (const twin::RunResult& run : summary.runs) {
    for (const twin::Rejection& r : run.rejections) {
      const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
        const twin::Rejection& other = *line.rejection;
        return other.reason == r.reason && other.jobs == r.jobs && other.examples == r.examples;
      });
      if (same == lines.end())
        lines.push_back({&r, {run.policy}});
      else
        same->policies.push_back(run.policy);
    }
  }
  std::string out;
  for (const Line& line : lines) {
    const twin::Rejection& r = *line.rejection;
    std::string ids;
    for (const std::string& id : r.examples) ids.append(ids.empty() ? "" : ", ").append(printable(id));
    if (r.jobs > r.examples.size()) ids += ", ...";
    const bool all = line.policies.size() == summary.runs.size();
    out += fmt::format("{} {} rejected{}: {} ({}).\n", format_count(r.jobs), r.jobs == 1 ? "job" : "jobs",
                       all ? "" : fmt::format(" under {}", fmt::join(line.policies, ", ")), r.reason, ids);
  }
  return out;
}

std::string skipped(const trace::Trace& trace) {
  if (trace.skipped_lines == 0) return {};
  std::string out = fmt::format("{} lines of the trace were skipped{}:\n", format_count(trace.skipped_lines),
                                trace.skipped_lines > trace.skipped.size() ? "; the first" : "");
  for (const trace::SkippedLine& line : trace.skipped)
    out += fmt::format("  line {}: {}{}{}\n", line.line, line.field, line.field.empty() ? "" : ": ", line.reason);
  return out;
}

}  // namespace

std::string replay_text(const twin::ReplaySummary& summary, bool colour) {
  const trace::Trace& trace = *summary.trace;
  std::string out =
      fmt::format("{}: {} jobs, {} GPU hours ({}, {:.3f} s to read); {} nodes, {} GPUs, placement {}\n\n",
                  printable(trace.path, 400), format_count(trace.rows.size()),
                  format_count(static_cast<std::uint64_t>(trace.gpu_hours() + 0.5)), trace.format, summary.load_s,
                  format_count(summary.nodes), format_count(summary.gpus), summary.placement);
  out += twin::to_table(summary).text(colour);
  const auto add = [&](const std::string& lines) {
    if (!lines.empty()) out += "\n" + lines;
  };
  std::string partial;
  for (const twin::RunResult& run : summary.runs) {
    if (run.partial) partial = "Partial: interrupted; the numbers cover what had finished.\n";
  }
  add(partial);
  add(rejections(summary));
  add(skipped(trace));
  for (const trace::OtherRows& rows : trace.other_rows)
    add(fmt::format("{} rows of the trace are no GPU jobs: {}.\n", format_count(rows.count), rows.reason));
  for (const trace::OtherRows& basis : trace::duration_bases(trace))
    add(fmt::format("{} jobs have no run time in the file: {}.\n", format_count(basis.count), printable(basis.reason)));
  return out;
}

std::string join_results(const std::vector<std::string>& paths, const std::vector<std::string>& results,
                         Output output) {
  if (paths.size() == 1) return results.empty() ? "" : results.front();
  std::string out = output == Output::kJson ? "[" : "";
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string_view text = results[i];
    if (output == Output::kJson) {
      out.append(i > 0 ? "," : "").append(trim(text.substr(0, text.find_last_not_of('\n') + 1)));
    } else if (output == Output::kCsv) {
      for (bool header = true; !text.empty(); header = false) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        if (header && i == 0) out.append("trace,").append(text.substr(0, end));
        if (!header) {
          append_csv(out, paths[i]);
          out.append(",").append(text.substr(0, end));
        }
        text.remove_prefix(end);
      }
    } else {
      out.append(output == Output::kTable && i > 0 ? "\n" : "").append(text);
    }
  }
  return output == Output::kJson ? out + "]\n" : out;
}

std::vector<std::string> folder_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    std::filesystem::path file = std::filesystem::path(path).filename();
    if (file.extension() == ".gz" || file.extension() == ".zst") file = file.stem();
    std::string name = path == "-" ? "stdin" : file.stem().string();
    if (name.empty() || name == "." || name == "..") name = "trace";
    std::string distinct = name;
    for (std::size_t n = 2; std::find(names.begin(), names.end(), distinct) != names.end(); ++n)
      distinct = fmt::format("{}-{}", name, n);
    names.push_back(std::move(distinct));
  }
  return names;
}

}  // namespace comity::cli
