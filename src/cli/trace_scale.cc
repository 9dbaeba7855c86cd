// SPDX-License-Identifier: Apache-2.0
// comity trace scale. The seed of a sample is the root's --seed.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/trace_verbs.h"
#include "cluster/spec.h"
#include "trace/reader.h"
#include "trace/scale.h"
#include "trace/writer.h"

namespace comity::cli {
namespace {

struct ScaleArgs {
  trace::ScaleOptions options;
  trace::ReadOptions read;
  std::string in, out = "-", to_format = "csv";
  std::string nodes, from, to;
};

Status parse_window(const std::string& text, const char* option, Time& at) {
  if (text.empty()) return {};
  const auto length = parse_length(text);
  if (!length)
    return fail_option(option, fmt::format("'{}' is no length of time", printable(text)),
                       "seconds since the trace's origin, or 36h, 2d, 1w");
  at = *length;
  return {};
}

Status run_scale(ScaleArgs& args, const Globals& globals) {
  trace::ScaleOptions& o = args.options;
  o.seed = globals.seed;
  if (Status status = parse_window(args.from, "--from", o.from); !status) return status;
  if (Status status = parse_window(args.to, "--to", o.to); !status) return status;
  if (!args.nodes.empty()) {
    const auto spec = cluster::parse_nodes(args.nodes);
    if (!spec) return fail(spec.error());
    if (!o.load) return fail_option("--nodes", "is for --load, which isn't given");
    o.gpus = spec->gpus();
  }
  Result<trace::Trace> trace = read_trace(args.in, args.read, globals);
  if (!trace) return fail(std::move(trace.error()));
  const std::size_t before = trace->rows.size();
  const Result<trace::ScaleReport> report = trace::scale_trace(*trace, o);
  if (!report) return fail(report.error());
  if (Status status = write_trace(*trace, args.to_format, args.out); !status) return status;
  log_other_rows(*trace);
  std::string changes = fmt::format("{}", fmt::join(report->changes, "; "));
  if (changes.empty()) changes = "nothing changed";
  log_info(fmt::format("{}: {}; {} of {} jobs, which offer {:.1f} GPUs of load (before: {:.1f})", trace->path, changes,
                       format_count(trace->rows.size()), format_count(before), report->mean_gpus_after,
                       report->mean_gpus_before));
  return {};
}

}  // namespace

void add_trace_scale(CLI::App& trace, Chosen& chosen) {
  CLI::App* sub = trace.add_subcommand("scale", "a trace made longer, larger, heavier, or a part of it");
  sub->footer(
      "The window is taken first, then the sample, sizes, run times, submit times. What changed is said on standard "
      "error.\nExample: comity trace scale week.csv heavier.csv --load 1.1 --nodes 64x8");
  auto args = std::make_shared<ScaleArgs>();
  trace::ScaleOptions& o = args->options;
  sub->add_option("in", args->in, "the trace; - is standard input")->required()->option_text("IN");
  sub->add_option("out", args->out, "the file to write; - (default) is standard output")->option_text("OUT");
  sub->add_option("--to-format", args->to_format, "csv (default) or swf")
      ->check(CLI::IsMember({"csv", "swf"}))
      ->option_text("FORMAT");
  sub->add_option("--time", o.time, "times between submissions times this")->option_text("X");
  sub->add_option("--duration", o.duration, "run times, estimates and deadlines times this")->option_text("X");
  sub->add_option("--size", o.size,
                  "GPUs of each job times this, to the nearest whole number, at least 1; of a job on "
                  "nodes, its nodes")
      ->option_text("X");
  sub->add_flag("--keep-powers", o.keep_powers, "with --size: 1, 2, 4, 8 ... become the nearest of 1, 2, 4, 8 ...");
  sub->add_option("--load", o.load, "submit times scaled so that the jobs keep this share of --nodes busy")
      ->option_text("X");
  sub->add_option("--nodes", args->nodes, "the cluster that --load is of, for example 64x8")->option_text("NODESxGPUS");
  sub->add_option("--from", args->from, "only jobs submitted at this time or later: seconds, 36h, 2d, 1w")
      ->option_text("TIME");
  sub->add_option("--to", args->to, "only jobs submitted before this time")->option_text("TIME");
  sub->add_option("--sample", o.sample, "keep each job with this probability, drawn from --seed")->option_text("X");
  add_read_options(sub, args->read);
  sub->callback([args, &chosen] { chosen.run = [args](const Globals& globals) { return run_scale(*args, globals); }; });
}

}  // namespace comity::cli
