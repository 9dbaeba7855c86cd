// SPDX-License-Identifier: Apache-2.0
// comity trace merge.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/trace_verbs.h"
#include "trace/merge.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace comity::cli {
namespace {

struct MergeArgs {
  std::vector<std::string> paths;
  std::string into = "-", align = "none", ids = "keep";
  std::string offsets, prefixes;
  bool skip_bad = false;
};

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  for (const std::string_view word : split(text, ',')) out.emplace_back(trim(word));
  return out;
}

Result<trace::MergeOptions> parse_options(const MergeArgs& args) {
  trace::MergeOptions options;
  options.align_start = args.align == "start";
  options.number = args.ids == "number";
  options.prefixes = words(args.prefixes);
  for (const std::string& word : words(args.offsets)) {
    const auto offset = parse_length(word);
    if (!offset)
      return fail_option("--offset", fmt::format("'{}' is no length of time", printable(word)),
                         "seconds, or 36h, 2d, 1w, one for each trace");
    options.offsets.push_back(*offset);
  }
  if (std::count(args.paths.begin(), args.paths.end(), "-") > 1)
    return fail_option("trace", "standard input can be only one of the traces");
  return options;
}

Status run_merge(const MergeArgs& args, const Globals& globals) {
  const Result<trace::MergeOptions> options = parse_options(args);
  if (!options) return fail(options.error());
  std::vector<trace::Trace> traces;
  std::string read;
  for (const std::string& path : args.paths) {
    Result<trace::Trace> trace = read_trace(path, {.skip_bad = args.skip_bad}, globals);
    if (!trace) return fail(std::move(trace.error()));
    read += fmt::format("{}{} of {} ({})", read.empty() ? "" : ", ", format_count(trace->rows.size()), trace->path,
                        trace->format);
    log_other_rows(*trace);
    traces.push_back(std::move(*trace));
  }
  const Result<trace::Merged> merged = trace::merge_traces(traces, *options);
  if (!merged) return fail(merged.error());
  if (Status status = trace::write_csv(merged->trace, args.into); !status) return status;
  log_info(fmt::format("{} jobs written: {}", format_count(merged->trace.rows.size()), read));
  if (merged->ids_prefixed)
    log_info("ids occur in more than one trace: each is now \"K:ID\", K being the number of its trace from 1");
  return {};
}

}  // namespace

void add_trace_merge(CLI::App& trace, Chosen& chosen) {
  CLI::App* sub = trace.add_subcommand("merge", "several traces as one, as Comity CSV, in order of submission");
  sub->footer(
      "Each trace's format is recognised for itself. Ids that clash are prefixed with the number of their trace, and "
      "that is said.\nExample: comity trace merge a.csv b.csv --align start --prefix a,b --into both.csv");
  auto args = std::make_shared<MergeArgs>();
  sub->add_option("trace", args->paths, "the traces; - is standard input, .gz and .zst are read as they are")
      ->required()
      ->option_text("TRACE...");
  sub->add_option("--into", args->into, "the file to write; - (default) is standard output")->option_text("FILE");
  sub->add_option("--align", args->align, "start: each trace begins at 0; none (default): times as in the files")
      ->check(CLI::IsMember({"start", "none"}))
      ->option_text("HOW");
  sub->add_option("--offset", args->offsets, "added to the times of each trace, after --align: 0,7d")
      ->option_text("TIME,...");
  sub->add_option("--prefix", args->prefixes, "put before users and tenants of each trace: a,b makes a/NAME and b/NAME")
      ->option_text("TEXT,...");
  sub->add_option("--ids", args->ids, "keep (default) or number: jobs are numbered from 0 in order of submission")
      ->check(CLI::IsMember({"keep", "number"}))
      ->option_text("HOW");
  sub->add_flag("--skip-bad", args->skip_bad, "count lines that can't be used and go on");
  sub->callback([args, &chosen] { chosen.run = [args](const Globals& globals) { return run_merge(*args, globals); }; });
}

}  // namespace comity::cli
