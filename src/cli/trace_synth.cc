// SPDX-License-Identifier: Apache-2.0
// comity trace synth sing | bootstrap | steady. The seed is the root's --seed.
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/trace_verbs.h"
#include "trace/reader.h"
#include "trace/synth.h"
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
      return trace::write_trace(*trace, args->target.to, args->target.path);
    };
  });
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
  sub->add_option("--format", args->read.format, "format of the trace, where detection is wrong")->option_text("NAME");
  sub->add_option("--columns", args->read.columns, "columns of your own CSV")->option_text("FIELD=COLUMN,...");
  sub->add_flag("--skip-bad", args->read.skip_bad, "count lines that can't be used and go on");
  sub->callback([args, &chosen] {
    chosen.run = [args](const Globals& globals) -> Status {
      args->options.seed = globals.seed;
      args->options.by_hour = args->block == "hour";
      args->read.quiet = globals.quiet;
      const Result<trace::Trace> source = trace::read_trace(args->source, args->read);
      if (!source) return fail(source.error());
      const Result<trace::Trace> trace = trace::synth_bootstrap(*source, args->options);
      if (!trace) return fail(trace.error());
      return trace::write_trace(*trace, args->target.to, args->target.path);
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
  CLI::App* synth = trace.add_subcommand("synth", "synthetic traces: sing, bootstrap, steady");
  synth->require_subcommand(1);
  synth->footer("Example: comity trace synth sing week.csv");
  add_sing(*synth, chosen);
  add_bootstrap(*synth, chosen);
  add_steady(*synth, chosen);
}

}  // namespace comity::cli
