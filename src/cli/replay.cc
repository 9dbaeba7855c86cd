// SPDX-License-Identifier: Apache-2.0
// comity replay, and comity policy list | show | compare.
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/input.h"
#include "base/json.h"
#include "base/log.h"
#include "base/numbers_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output_folder.h"
#include "trace/reader.h"
#include "twin/replay.h"
#include "twin/replay_report.h"
#include "twin/summary.h"

namespace comity::cli {
namespace {

struct ReplayArgs {
  std::vector<std::string> traces;
  std::string nodes;
  std::string cluster;
  std::vector<std::string> policies;
  std::string placement = "bestfit";
  std::string ties = "id";
  std::string mode = "strict";
  std::string estimates = "oracle";
  std::string compat;
  std::string colocation;
  std::string sharing_scores;
  double noise = 30;
  std::vector<std::string> sets;
  std::string format;
  std::string columns;
  bool skip_bad = false;
  std::size_t jobs = 1;
};

Result<std::vector<const sched::PolicyInfo*>> chosen_policies(const ReplayArgs& args) {
  std::vector<std::string> names;
  for (const std::string& name : args.policies) {
    if (name != "all") {
      names.push_back(name);
      continue;
    }
    for (const sched::PolicyInfo& info : sched::registry()) names.push_back(info.name);
  }
  std::vector<const sched::PolicyInfo*> list;
  for (const std::string& name : names) {
    auto info = sched::find_policy(name, args.compat);
    if (!info) return fail(info.error());
    list.push_back(*info);
  }
  if (list.empty()) return fail(Code::kUsage, "no policy", "give --policy fifo,sing or --policy all");
  return list;
}

Result<Params> parse_params(const std::vector<std::string>& sets) {
  Params params = sched::all_params();
  for (const std::string& set : sets) {
    const std::size_t eq = set.find('=');
    if (eq == std::string::npos)
      return fail(Code::kUsage, fmt::format("--set {}: no '='", printable(set)), "write --set policy.parameter=value");
    if (auto status = params.set(set.substr(0, eq), set.substr(eq + 1)); !status) return fail(status.error());
  }
  for (const Param& p : params.declared()) {
    if (p.type != Param::Type::kFile || params.value_text(p.name).empty()) continue;
    auto numbers = read_numbers(params.value_text(p.name));
    if (!numbers) return fail(numbers.error());
    if (auto status = params.load(p.name, std::move(*numbers)); !status) return fail(status.error());
  }
  return params;
}

Result<cluster::ClusterSpec> parse_spec(const ReplayArgs& args) {
  if (!args.nodes.empty() && !args.cluster.empty())
    return fail(Code::kUsage, "--nodes and --cluster exclude each other");
  if (!args.nodes.empty()) return cluster::parse_nodes(args.nodes);
  if (!args.cluster.empty()) return cluster::read_cluster(args.cluster);
  return fail(Code::kUsage, "which cluster?", "give --nodes 56x8 or --cluster FILE");
}

Result<twin::ReplayOptions> parse_options(const ReplayArgs& args, const Globals& globals) {
  twin::ReplayOptions options;
  auto spec = parse_spec(args);
  if (!spec) return fail(spec.error());
  options.cluster = std::move(*spec);
  if (options.cluster.nodes_without_gpus > 0)
    log_info(fmt::format("{} nodes of {} have no GPU and are left out", options.cluster.nodes_without_gpus,
                         printable(args.cluster)));
  auto placement = cluster::parse_placement(args.placement);
  if (!placement) return fail(placement.error());
  options.placement = *placement;
  // Lucid's simulator differs from bestfit in where the remainder of a gang goes.
  if (args.compat == "lucid" && *placement == cluster::Placement::kBestFit)
    options.placement = cluster::Placement::kLucid;
  options.ties = args.ties == "file" ? twin::Ties::kFile : twin::Ties::kId;
  options.mode = args.mode == "skip" ? twin::Mode::kSkip : twin::Mode::kStrict;
  options.estimates = args.estimates == "user"      ? twin::Estimates::kUser
                      : args.estimates == "noisy"   ? twin::Estimates::kNoisy
                      : args.estimates == "history" ? twin::Estimates::kHistory
                                                    : twin::Estimates::kOracle;
  options.noise_percent = args.noise;
  options.seed = globals.seed;
  options.quiet = globals.quiet;
  options.detail = !globals.out_dir.empty();
  return options;
}

Status print_results(const twin::ReplaySummary& summary, const Globals& globals) {
  switch (globals.output) {
    case Output::kTable: {
      const trace::Trace& trace = *summary.trace;
      fmt::print("{}: {} jobs, {} GPU hours ({}, {:.3f} s to read); {} nodes, {} GPUs, placement {}\n\n", trace.path,
                 format_count(trace.rows.size()), format_count(static_cast<std::uint64_t>(trace.gpu_hours())),
                 trace.format, summary.load_s, summary.nodes, summary.gpus, summary.placement);
      fmt::print("{}", twin::to_table(summary).text(globals.colour));
      if (trace.skipped_lines > 0) fmt::print("\n{} lines of the trace were skipped.\n", trace.skipped_lines);
      for (const trace::OtherRows& rows : trace.other_rows)
        fmt::print("\n{} rows of the trace are no GPU jobs: {}.\n", format_count(rows.count), rows.reason);
      for (const trace::OtherRows& basis : trace::duration_bases(trace)) {
        fmt::print("\n{} jobs have no run time in the file: {}.\n", format_count(basis.count), printable(basis.reason));
      }
      return {};
    }
    case Output::kCsv: fmt::print("{}", twin::to_csv(summary)); return {};
    case Output::kJson:
    case Output::kJsonl: fmt::print("{}", twin::to_json(summary)); return {};
  }
  return {};
}

Status write_results(const twin::ReplaySummary& summary, const twin::Workload& workload,
                     const twin::ReplayOptions& options, const Params& params, const Globals& globals,
                     const std::string& command) {
  JsonWriter run;
  run.begin_object().field("schema", "comity.run/1").field("version", COMITY_VERSION).field("command", command);
  run.field("seed", globals.seed).key("parameters").begin_array();
  for (const Param& p : params.declared()) {
    run.begin_object().field("name", p.name).field("value", params.value_text(p.name)).field("unit", p.unit);
    run.field("origin", params.origin(p.name)).end_object();
  }
  run.end_array().end_object();
  return write_folder(globals.out_dir,
                      {{"run.json", run.text() + "\n"},
                       {"summary.json", twin::to_json(summary)},
                       {"series.csv", twin::series_csv(summary)},
                       {"jobs.csv", twin::jobs_csv(summary, workload)},
                       {"report.html", twin::replay_report(summary, workload, options.cluster, command)}});
}

Status run_replay(const ReplayArgs& args, const Globals& globals, const std::string& command) {
  auto policies = chosen_policies(args);
  if (!policies) return fail(policies.error());
  auto params = parse_params(args.sets);
  if (!params) return fail(params.error());
  auto options = parse_options(args, globals);
  if (!options) return fail(options.error());
  auto colocation = profile::read_colocation(args.colocation, args.sharing_scores);
  if (!colocation) return fail(colocation.error());
  options->colocation = &*colocation;
  for (const std::string& path : args.traces) {
    trace::ReadOptions read;
    read.format = args.format;
    read.columns = args.columns;
    read.skip_bad = args.skip_bad;
    read.quiet = globals.quiet;
    const std::int64_t begin = steady_ns();
    auto trace = trace::read_trace(path, read);
    if (!trace) return fail(trace.error());
    if (Status status = trace::need_durations(*trace); !status) return status;
    twin::ReplaySummary summary;
    summary.load_s = static_cast<double>(steady_ns() - begin) * 1e-9;
    const twin::Workload workload(*trace, options->ties);
    auto runs = twin::replay_all(workload, *policies, *params, *options, args.jobs);
    if (!runs) return fail(runs.error());
    summary.trace = &*trace;
    summary.nodes = options->cluster.nodes.size();
    summary.gpus = options->cluster.gpus();
    summary.placement = cluster::placement_name(options->placement);
    summary.runs = std::move(*runs);
    if (auto status = print_results(summary, globals); !status) return status;
    if (!globals.out_dir.empty()) {
      if (auto status = write_results(summary, workload, *options, *params, globals, command); !status) return status;
    }
    if (interrupted()) return fail(Code::kInterrupted, "interrupted; the results cover what had finished");
  }
  return {};
}

void add_replay_options(CLI::App* sub, const std::shared_ptr<ReplayArgs>& args) {
  sub->add_option("trace", args->traces, "trace files; - is standard input, .gz and .zst are read as they are")
      ->required();
  sub->add_option("--nodes", args->nodes, "NODESxGPUS, for example 56x8");
  sub->add_option("--cluster", args->cluster, "a cluster file (schema comity.cluster/1)");
  sub->add_option("--policy", args->policies, "policies, separated by commas; all = every one")
      ->delimiter(',')
      ->required();
  sub->add_option("--placement", args->placement,
                  "count, firstfit, bestfit, consolidated, buddy or lucid (default bestfit)");
  sub->add_option("--compat", args->compat, "policies exactly as another simulator runs them: lucid")
      ->check(CLI::IsMember(sched::compat_names()));
  sub->add_option("--ties", args->ties, "jobs of one instant by id or in file order (default id)")
      ->check(CLI::IsMember({"id", "file"}));
  sub->add_option("--mode", args->mode,
                  "strict: a job that can never run ends the run; skip: it is counted and left out")
      ->check(CLI::IsMember({"strict", "skip"}));
  sub->add_option("--estimates", args->estimates,
                  "what policies are told of run times: oracle, user, noisy, or history (the mean of the user's "
                  "finished jobs of "
                  "that name)")
      ->check(CLI::IsMember({"oracle", "user", "noisy", "history"}));
  sub->add_option("--noise", args->noise, "percent of noise for --estimates noisy (default 30)")
      ->check(CLI::Range(0.0, 100.0));
  sub->add_option("--colocation", args->colocation, "CSV of the speeds of models that share a GPU, for lucid, gandiva");
  sub->add_option("--sharing-scores", args->sharing_scores,
                  "CSV of how much of a GPU models ask for (0, 1, 2), for lucid");
  sub->add_option("--set", args->sets, "policy.parameter=value; see `comity policy show NAME`");
  sub->add_option("--format", args->format, "trace format, where detection is wrong");
  sub->add_option("--columns", args->columns, "columns of your own CSV: submit=...,gpus=...,duration=...");
  sub->add_flag("--skip-bad", args->skip_bad, "count lines that can't be used and go on");
  sub->add_option("--jobs", args->jobs, "policies replayed at a time (default 1)")->check(CLI::Range(1, 256));
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out;
}

std::string command_line(const std::string& verb, const ReplayArgs& args) {
  std::string out = fmt::format("comity {} {} --policy {}", verb, join(args.traces), fmt::join(args.policies, ","));
  if (!args.nodes.empty()) out += " --nodes " + args.nodes;
  if (!args.cluster.empty()) out += " --cluster " + args.cluster;
  out += fmt::format(" --placement {} --ties {} --mode {} --estimates {}", args.placement, args.ties, args.mode,
                     args.estimates);
  for (const std::string& set : args.sets) out += " --set " + set;
  if (!args.compat.empty()) out += " --compat " + args.compat;
  if (!args.colocation.empty()) out += " --colocation " + args.colocation;
  if (!args.sharing_scores.empty()) out += " --sharing-scores " + args.sharing_scores;
  if (!args.format.empty()) out += " --format " + args.format;
  if (!args.columns.empty()) out += " --columns " + args.columns;
  if (args.skip_bad) out += " --skip-bad";
  return out;
}

Status list_policies(const Globals& globals) {
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.policies/1").key("policies").begin_array();
    for (const sched::PolicyInfo& p : sched::registry())
      json.begin_object()
          .field("name", p.name)
          .field("summary", p.summary)
          .field("source", p.source)
          .field("preemptive", p.preemptive)
          .field("uses_estimates", p.uses_estimates)
          .end_object();
    fmt::print("{}\n", json.end_array().end_object().text());
    return {};
  }
  Table table({{"policy", false}, {"preempts", false}, {"estimates", false}, {"what it does", false}});
  for (const sched::PolicyInfo& p : sched::registry())
    table.add_row({{p.name}, {p.preemptive ? "yes" : "no"}, {p.uses_estimates ? "yes" : "no"}, {p.summary}});
  fmt::print("{}", globals.output == Output::kCsv ? table.csv() : table.text(globals.colour));
  return {};
}

std::string range_of(const Param& p) {
  if (!p.choices.empty()) return fmt::format("{}", fmt::join(p.choices, " | "));
  return p.low == p.high ? "" : fmt::format("{} to {}", p.low, p.high);
}

Status show_policy(const std::string& name, const Globals& globals) {
  auto found = sched::find_policy(name);
  if (!found) return fail(found.error());
  const sched::PolicyInfo& p = **found;
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.policy/1").field("name", p.name).field("summary", p.summary);
    json.field("source", p.source).key("parameters").begin_array();
    for (const Param& q : p.params)
      json.begin_object()
          .field("name", q.name)
          .field("default", q.fallback)
          .field("unit", q.unit)
          .field("range", range_of(q))
          .field("doc", q.doc)
          .end_object();
    fmt::print("{}\n", json.end_array().end_object().text());
    return {};
  }
  fmt::print("{}: {}\nSource: {}\n", p.name, p.summary, p.source);
  if (p.params.empty()) {
    fmt::print("No parameters.\n");
    return {};
  }
  Table table({{"parameter", false}, {"default", false}, {"unit", false}, {"range", false}, {"meaning", false}});
  for (const Param& q : p.params) table.add_row({{q.name}, {q.fallback}, {q.unit}, {range_of(q)}, {q.doc}});
  fmt::print("\n{}", table.text(globals.colour));
  return {};
}

}  // namespace

void add_replay(CLI::App& root, Chosen& chosen) {
  CLI::App* sub = root.add_subcommand("replay", "replay a job trace on a cluster under one or more policies");
  sub->footer("Example: comity replay week.csv --nodes 64x8 --policy fifo,sing,easy --out out/week");
  auto args = std::make_shared<ReplayArgs>();
  add_replay_options(sub, args);
  sub->callback([args, &chosen] {
    chosen.run = [args](const Globals& globals) { return run_replay(*args, globals, command_line("replay", *args)); };
  });
}

void add_policy(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("policy", "scheduling policies: list, show, compare");
  noun->require_subcommand(1);
  noun->footer("Example: comity policy show sing");
  CLI::App* list = noun->add_subcommand("list", "every policy in a line");
  list->footer("Example: comity policy list -o json");
  list->callback([&chosen] { chosen.run = list_policies; });
  CLI::App* show = noun->add_subcommand("show", "one policy and its parameters");
  show->footer("Example: comity policy show easy");
  auto name = std::make_shared<std::string>();
  show->add_option("name", *name, "the policy")->required();
  show->callback(
      [name, &chosen] { chosen.run = [name](const Globals& globals) { return show_policy(*name, globals); }; });
  CLI::App* compare = noun->add_subcommand("compare", "replay under several policies on all cores");
  compare->footer("Example: comity policy compare week.csv --nodes 64x8 --policy all");
  auto args = std::make_shared<ReplayArgs>();
  args->jobs = std::max(1U, std::thread::hardware_concurrency());
  add_replay_options(compare, args);
  compare->callback([args, &chosen] {
    chosen.run = [args](const Globals& globals) {
      return run_replay(*args, globals, command_line("policy compare", *args));
    };
  });
}

}  // namespace comity::cli
