// SPDX-License-Identifier: Apache-2.0
// comity trace stats | convert | formats; the other verbs have files of their own.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_words.h"
#include "cli/output_folder.h"
#include "cli/trace_report.h"
#include "cli/trace_verbs.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace comity::cli {
namespace {

struct StatsArgs {
  std::vector<std::string> paths;
  trace::ReadOptions read;
};

Status print_stats(const std::vector<TraceSummary>& list, const Globals& globals) {
  if (globals.output == Output::kCsv) {
    fmt::print("{}", trace_table(list).csv());
    return {};
  }
  const bool array = globals.output == Output::kJson && list.size() > 1;
  std::string out = array ? "[" : "";
  for (const TraceSummary& summary : list) {
    if (&summary != list.data()) out += array ? "," : globals.output == Output::kTable ? "\n\n" : "\n";
    out += globals.output == Output::kTable ? trace_text(summary, globals.colour) : trace_json(summary);
  }
  if (globals.output != Output::kTable) out += array ? "]\n" : "\n";
  fmt::print("{}", out);
  return {};
}

Status run_stats(const CLI::App& sub, const StatsArgs& args, const Globals& globals) {
  std::vector<TraceSummary> list;
  for (const std::string& path : args.paths) {
    const Result<trace::Trace> trace = read_trace(path, args.read, globals);
    if (!trace) return fail(trace.error());
    list.push_back({.path = trace->path,
                    .format = trace->format,
                    .skipped_lines = trace->skipped_lines,
                    .skipped = trace->skipped,
                    .ignored_columns = trace->ignored_columns,
                    .other_rows = trace->other_rows,
                    .duration_bases = trace::duration_bases(*trace),
                    .declared_gpus = trace->declared_gpus,
                    .stats = trace::trace_stats(*trace)});
  }
  if (Status status = print_stats(list, globals); !status || globals.out_dir.empty()) return status;
  std::string summary;
  for (const TraceSummary& s : list) summary.append(summary.empty() ? "" : ",").append(trace_json(s));
  if (list.size() > 1) summary = fmt::format("[{}]", summary);
  CommandWords words(sub);
  words.positional(args.paths);
  add_read_words(words, args.read);
  return write_folder(globals.out_dir, {{"run.json", words.run_json(globals)},
                                        {"summary.json", summary + "\n"},
                                        {"stats.csv", trace_table(list).csv()},
                                        {"report.html", trace_page(list, words.line())}});
}

void add_stats(CLI::App& noun, Chosen& chosen) {
  CLI::App* sub = noun.add_subcommand("stats", "what traces hold: load, sizes, run times, tenants, rhythm of the week");
  sub->footer("Example: comity trace stats philly_week.csv --out out/stats");
  auto args = std::make_shared<StatsArgs>();
  sub->add_option("trace", args->paths, "trace files; - is standard input, .gz and .zst are read as they are")
      ->required();
  add_read_options(sub, args->read);
  chosen.folders.push_back(sub);
  sub->callback([args, sub, &chosen] {
    chosen.run = [args, sub](const Globals& globals) { return run_stats(*sub, *args, globals); };
  });
}

void add_convert(CLI::App& noun, Chosen& chosen) {
  struct Args {
    trace::ReadOptions read;
    std::string in, out = "-", to = "csv";
  };
  CLI::App* sub = noun.add_subcommand("convert", "any readable trace as Comity CSV (nothing lost) or SWF");
  sub->footer("Example: comity trace convert NASA.swf.gz nasa.csv --skip-bad");
  auto args = std::make_shared<Args>();
  sub->add_option("in", args->in, "the trace; - is standard input")->required()->option_text("IN");
  sub->add_option("out", args->out, "the file to write; - (default) is standard output")->option_text("OUT");
  sub->add_option("--to", args->to, "csv (default) or swf")
      ->check(CLI::IsMember({"csv", "swf"}))
      ->option_text("FORMAT");
  add_read_options(sub, args->read);
  sub->callback([args, &chosen] {
    chosen.run = [args](const Globals& globals) -> Status {
      const Result<trace::Trace> trace = read_trace(args->in, args->read, globals);
      if (!trace) return fail(trace.error());
      if (Status status = write_trace(*trace, args->to, args->out); !status) return status;
      log_info(fmt::format("{} jobs of {} ({}) written, {} lines skipped", format_count(trace->rows.size()),
                           trace->path, trace->format, format_count(trace->skipped_lines)));
      log_other_rows(*trace);
      return {};
    };
  });
}

Status list_formats(const Globals& globals) {
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.trace_formats/1").key("formats").begin_array();
    for (const trace::Format& format : trace::formats())
      json.begin_object().field("name", format.name).field("description", format.description).end_object();
    fmt::print("{}\n", json.end_array().end_object().text());
    return {};
  }
  Table table({{"format", false}, {"what it is", false}});
  for (const trace::Format& format : trace::formats()) table.add_row({{format.name}, {format.description}});
  fmt::print("{}", globals.output == Output::kCsv ? table.csv() : table.text(globals.colour));
  return {};
}

}  // namespace

void add_read_options(CLI::App* sub, trace::ReadOptions& options) {
  sub->add_option("--format", options.format, "format of the trace, where detection is wrong; see comity trace formats")
      ->option_text("NAME");
  sub->add_option("--columns", options.columns, "columns of your own CSV: submit=...,duration=...,gpus=...")
      ->option_text("FIELD=COLUMN,...");
  sub->add_flag("--skip-bad", options.skip_bad, "count lines that can't be used and go on");
}

void log_other_rows(const trace::Trace& trace) {
  for (const trace::OtherRows& rows : trace.other_rows)
    log_info(fmt::format("{}: {} rows are no GPU jobs and were left out: {}", trace.path, format_count(rows.count),
                         rows.reason));
}

void add_read_words(CommandWords& words, const trace::ReadOptions& options) {
  words.option("format", options.format, !options.format.empty());
  words.option("columns", options.columns, !options.columns.empty());
  words.flag("skip-bad", options.skip_bad);
}

Result<trace::Trace> read_trace(const std::string& path, trace::ReadOptions options, const Globals& globals) {
  options.quiet = globals.quiet;
  const std::int64_t begin = steady_ns();
  Result<trace::Trace> trace = trace::read_trace(path, options);
  if (trace)
    log_debug(fmt::format("{}: read as {}: {} jobs, {} lines skipped, {:.3f} s", printable(trace->path, 400),
                          trace->format, format_count(trace->rows.size()), format_count(trace->skipped_lines),
                          static_cast<double>(steady_ns() - begin) * 1e-9));
  return trace;
}

Status write_trace(const trace::Trace& trace, const std::string& format, const std::string& path) {
  const std::int64_t begin = steady_ns();
  if (Status status = trace::write_trace(trace, format, path); !status) return status;
  log_debug(fmt::format("{} jobs written as {}, {:.3f} s", format_count(trace.rows.size()), format,
                        static_cast<double>(steady_ns() - begin) * 1e-9));
  const std::vector<std::string> lost = format == "swf" ? trace::lost_in_swf(trace) : std::vector<std::string>();
  if (!lost.empty()) log_warning(fmt::format("SWF has no room for {}; Comity's CSV has", fmt::join(lost, ", ")));
  return {};
}

void add_trace(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("trace", "job traces: stats, convert, synth, scale, merge, anonymise, formats");
  noun->require_subcommand(1);
  noun->footer("Example: comity trace synth sing week.csv && comity trace stats week.csv");
  add_stats(*noun, chosen);
  add_convert(*noun, chosen);
  add_trace_synth(*noun, chosen);
  add_trace_scale(*noun, chosen);
  add_trace_merge(*noun, chosen);
  add_trace_anonymise(*noun, chosen);
  CLI::App* list = noun->add_subcommand("formats", "the trace formats that can be read");
  list->footer("Example: comity trace formats");
  list->callback([&chosen] { chosen.run = list_formats; });
}

}  // namespace comity::cli
