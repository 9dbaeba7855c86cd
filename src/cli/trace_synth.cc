// SPDX-License-Identifier: Apache-2.0
// comity trace synth sing | lublin | bootstrap | steady. The seed is the root's --seed.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/trace_verbs.h"
#include "trace/reader.h"
#include "trace/synth.h"
#include "trace/synth_lublin.h"
#include "trace/writer.h"

namespace comity::cli {
namespace {

struct Target {
  std::string path = "-";
  std::string to = "csv";
};

void add_target(CLI::App* sub, Target& target) {
  sub->add_option("file", target.path, "the file to write; - (default) is standard output")->option_text("FILE");
  sub->add_option("--to", target.to, "csv (default) or swf")
      ->check(CLI::IsMember({"csv", "swf"}))
      ->option_text("FORMAT");
}

void add_sing(CLI::App& synth, Chosen& chosen) {
  struct Args {
    trace::SingOptions options;
    Target target;
  };
  CLI::App* sub = synth.add_subcommand("sing", "weeks of a campus cluster with the rhythm and the job shapes of SING");
  sub->footer(
      "The first day is a warm-up: the week begins at 24 h.\nExample: comity trace synth sing week.csv --weeks 2 "
      "--load 110 --seed 7");
  auto args = std::make_shared<Args>();
  trace::SingOptions& o = args->options;
  add_target(sub, args->target);
  sub->add_option("--weeks", o.weeks, "weeks after the warm-up day (default 1)")->option_text("N");
  sub->add_option("--load", o.load, "GPUs that the jobs keep busy on average (default 100)")->option_text("GPUS");
  sub->add_option("--scale", o.scale, "run times times this (default 0.15)")->option_text("X");
  sub->add_option("--phi", o.phi, "share of arrivals that don't follow the hour, 0 to 1 (default 0.7)")
      ->option_text("X");
  sub->callback([args, &chosen] {
    chosen.run = [args](const Globals& globals) -> Status {
      args->options.seed = globals.seed;
      const Result<trace::Trace> trace = trace::synth_sing(args->options);
      if (!trace) return fail(trace.error());
      return write_trace(*trace, args->target.to, args->target.path);
    };
  });
}

Status print_lublin_params(const Globals& globals) {
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.lublin_parameters/1").key("parameters").begin_array();
    for (const Param& p : trace::lublin_params()) {
      json.begin_object().field("name", p.name).field("default", p.fallback).field("low", p.low).field("high", p.high);
      json.field("doc", p.doc).end_object();
    }
    fmt::print("{}\n", json.end_array().end_object().text());
    return {};
  }
  Table table({{"parameter", false}, {"default", true}, {"range", false}, {"meaning", false}});
  for (const Param& p : trace::lublin_params())
    table.add_row({{p.name}, {p.fallback}, {fmt::format("{} to {}", p.low, p.high)}, {p.doc}});
  fmt::print("{}", globals.output == Output::kCsv ? table.csv() : table.text(globals.colour));
  return {};
}

struct LublinArgs {
  trace::LublinOptions options;
  std::string which = "mixed";
  std::vector<std::string> sets;
  bool parameters = false;
  Target target;
};

Status run_lublin(LublinArgs& args, const Globals& globals) {
  if (args.parameters) return print_lublin_params(globals);
  using trace::LublinJobs;
  args.options.seed = globals.seed;
  args.options.which = args.which == "mixed"         ? LublinJobs::kMixed
                       : args.which == "batch"       ? LublinJobs::kBatch
                       : args.which == "interactive" ? LublinJobs::kInteractive
                                                     : LublinJobs::kAll;
  for (const std::string& set : args.sets) {
    const std::size_t eq = set.find('=');
    if (eq == std::string::npos)
      return fail_option("--set", fmt::format("'{}' has no '='", printable(set)), "write --set batch.a1=6.57");
    if (Status status = args.options.params.set(set.substr(0, eq), set.substr(eq + 1)); !status) return status;
  }
  const Result<trace::Trace> trace = trace::synth_lublin(args.options);
  if (!trace) return fail(trace.error());
  return write_trace(*trace, args.target.to, args.target.path);
}

void add_lublin(CLI::App& synth, Chosen& chosen) {
  CLI::App* sub =
      synth.add_subcommand("lublin", "the model of Lublin and Feitelson: sizes, run times and the rhythm of the day");
  sub->footer(
      "Another load: pass the result through comity trace scale --load.\nExample: comity trace synth lublin "
      "lublin.csv --jobs 5000 --gpus 256 --class all");
  auto args = std::make_shared<LublinArgs>();
  trace::LublinOptions& o = args->options;
  add_target(sub, args->target);
  sub->add_option("--jobs", o.jobs, "how many (default 10,000)")->option_text("N");
  sub->add_option("--gpus", o.gpus, "GPUs of the machine (default 128): the sizes are stretched to it")
      ->option_text("N");
  sub->add_option("--class", args->which,
                  "mixed (default): batch and interactive jobs, each with constants of their own; batch; interactive; "
                  "all: one set of constants for all jobs")
      ->check(CLI::IsMember({"mixed", "batch", "interactive", "all"}))
      ->option_text("CLASS");
  sub->add_option("--set", args->sets, "CLASS.PARAMETER=VALUE, for example batch.uprob=0.8; see --parameters")
      ->option_text("NAME=VALUE");
  sub->add_flag("--parameters", args->parameters, "print every parameter with its default, and stop");
  sub->callback(
      [args, &chosen] { chosen.run = [args](const Globals& globals) { return run_lublin(*args, globals); }; });
}

void add_bootstrap(CLI::App& synth, Chosen& chosen) {
  struct Args {
    trace::BootstrapOptions options;
    trace::ReadOptions read;
    std::string source;
    std::string block = "day";
    Target target;
  };
  CLI::App* sub =
      synth.add_subcommand("bootstrap", "a trace of any length like yours: whole days or hours of it, drawn again");
  sub->footer("Example: comity trace synth bootstrap week.csv long.csv --weeks 8 --load-factor 1.2");
  auto args = std::make_shared<Args>();
  trace::BootstrapOptions& o = args->options;
  sub->add_option("trace", args->source, "the trace to draw from")->required()->option_text("TRACE");
  add_target(sub, args->target);
  sub->add_option("--weeks", o.weeks, "length of the new trace (default 1)")->option_text("N");
  sub->add_option("--block", args->block, "day (default) or hour: what is drawn as a whole")
      ->check(CLI::IsMember({"day", "hour"}))
      ->option_text("BLOCK");
  sub->add_option("--load-factor", o.load_factor, "load of the new trace over that of the old (default 1)")
      ->option_text("X");
  add_read_options(sub, args->read);
  sub->callback([args, &chosen] {
    chosen.run = [args](const Globals& globals) -> Status {
      args->options.seed = globals.seed;
      args->options.by_hour = args->block == "hour";
      const Result<trace::Trace> source = read_trace(args->source, args->read, globals);
      if (!source) return fail(source.error());
      const Result<trace::Trace> trace = trace::synth_bootstrap(*source, args->options);
      if (!trace) return fail(trace.error());
      return write_trace(*trace, args->target.to, args->target.path);
    };
  });
}

void add_steady(CLI::App& synth, Chosen& chosen) {
  struct Args {
    trace::SteadyOptions options;
    Target target;
  };
  CLI::App* sub = synth.add_subcommand("steady", "any number of jobs at a steady load, for measuring speed");
  sub->footer("Example: comity trace synth steady --jobs 100000 --gpus 512 --load 0.9 > steady.csv");
  auto args = std::make_shared<Args>();
  trace::SteadyOptions& o = args->options;
  sub->add_option("file", args->target.path, "the file to write; - (default) is standard output")->option_text("FILE");
  sub->add_option("--jobs", o.jobs, "how many (default 100,000)")->option_text("N");
  sub->add_option("--gpus", o.gpus, "GPUs of the cluster that the load is of (default 512)")->option_text("N");
  sub->add_option("--load", o.load, "share of them kept busy on average (default 0.9)")->option_text("X");
  sub->add_option("--median", o.median_s, "median run time in seconds (default 600)")->option_text("S");
  sub->add_option("--sigma", o.sigma, "spread of the logarithm of run times (default 1.5)")->option_text("X");
  sub->callback([args, &chosen] {
    chosen.run = [args](const Globals& globals) {
      args->options.seed = globals.seed;
      return trace::write_steady(args->options, args->target.path, globals.quiet || args->target.path == "-");
    };
  });
}

}  // namespace

void add_trace_synth(CLI::App& trace, Chosen& chosen) {
  CLI::App* synth = trace.add_subcommand("synth", "synthetic traces: sing, lublin, bootstrap, steady");
  synth->require_subcommand(1);
  synth->footer("Example: comity trace synth sing week.csv");
  add_sing(*synth, chosen);
  add_lublin(*synth, chosen);
  add_bootstrap(*synth, chosen);
  add_steady(*synth, chosen);
}

}  // namespace comity::cli
