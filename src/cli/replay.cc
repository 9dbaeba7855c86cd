// SPDX-License-Identifier: Apache-2.0
// comity replay, and comity policy list | show | compare.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "base/numbers_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_words.h"
#include "cli/output_folder.h"
#include "cli/replay_output.h"
#include "cli/trace_verbs.h"
#include "cluster/pool.h"
#include "twin/replay.h"
#include "twin/replay_notes.h"
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
  std::string rates;
  double noise = 30;
  std::vector<std::string> sets;
  trace::ReadOptions read;
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
    if (std::find(list.begin(), list.end(), *info) == list.end()) list.push_back(*info);
  }
  if (list.empty()) return fail_option("--policy", "no policy", "give --policy fifo,sing or --policy all");
  return list;
}

Result<Params> parse_params(const std::vector<std::string>& sets) {
  Params params = sched::all_params();
  for (const std::string& set : sets) {
    const std::size_t eq = set.find('=');
    if (eq == std::string::npos)
      return fail_option("--set", fmt::format("'{}' has no '='", printable(set)), "write --set policy.parameter=value");
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
  if (!args.nodes.empty() && !args.cluster.empty()) return fail_option("--cluster", "and --nodes exclude each other");
  if (!args.nodes.empty()) return cluster::parse_nodes(args.nodes);
  if (!args.cluster.empty()) return cluster::read_cluster(args.cluster);
  return fail_option("--cluster", "which cluster?", "give --nodes 56x8 or --cluster FILE");
}

// Pool::check_spec, whose errors know no file.
Status check_spec(const ReplayArgs& args, const cluster::ClusterSpec& spec, cluster::Placement placement) {
  Status status = cluster::Pool::check_spec(spec, placement);
  if (status) return status;
  Error error = std::move(status.error());
  if (args.cluster.empty()) {
    error.code = Code::kUsage;
    error.field = "--nodes";
    error.message = fmt::format("{}: {}", printable(args.nodes), error.message);
    return fail(std::move(error));
  }
  error.file = args.cluster;
  for (const cluster::NodeSpec& node : spec.nodes) {
    cluster::ClusterSpec alone;
    alone.nodes.push_back(node);
    if (cluster::Pool::check_spec(alone, placement)) continue;
    error.line = node.line;
    error.field = "gpus";
    break;
  }
  return fail(std::move(error));
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
  // Astraea's spreads a job over whatever is free.
  if (args.compat == "astraea" && *placement == cluster::Placement::kBestFit)
    options.placement = cluster::Placement::kCount;
  if (Status status = check_spec(args, options.cluster, options.placement); !status) return fail(status.error());
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

std::string result_text(const twin::ReplaySummary& summary, const Globals& globals) {
  switch (globals.output) {
    case Output::kTable: return replay_text(summary, globals.colour);
    case Output::kCsv: return twin::to_csv(summary);
    case Output::kJson:
    case Output::kJsonl: return twin::to_json(summary);
  }
  return {};
}

struct Setup {
  std::vector<const sched::PolicyInfo*> policies;
  Params params;
  twin::ReplayOptions options;
  profile::Colocation colocation;
  std::optional<profile::Rates> rates;
};

// --rates: a file, or what comes with the program.
Status parse_rates(const ReplayArgs& args, Setup& setup) {
  if (args.rates.empty()) return {};
  if (!args.compat.empty())
    return fail_option("--rates", "and --compat exclude each other", "other simulators know no types of GPUs");
  if (args.rates == "gavel") {
    setup.rates = profile::library_rates();
    return {};
  }
  auto rates = profile::read_rates(args.rates);
  if (!rates) return fail(rates.error());
  setup.rates = std::move(*rates);
  return {};
}

Result<Setup> parse(const ReplayArgs& args, const Globals& globals) {
  Setup setup;
  auto policies = chosen_policies(args);
  if (!policies) return fail(policies.error());
  setup.policies = std::move(*policies);
  auto params = parse_params(args.sets);
  if (!params) return fail(params.error());
  setup.params = std::move(*params);
  auto options = parse_options(args, globals);
  if (!options) return fail(options.error());
  setup.options = std::move(*options);
  auto colocation = profile::read_colocation(args.colocation, args.sharing_scores);
  if (!colocation) return fail(colocation.error());
  setup.colocation = std::move(*colocation);
  if (Status status = parse_rates(args, setup); !status) return fail(status.error());
  if (std::count(args.traces.begin(), args.traces.end(), "-") > 1)
    return fail_option("trace", "standard input can be only one of the traces");
  return setup;
}

// Replays one trace; what is to be printed of it.
Result<std::string> replay_trace(const std::string& path, const std::string& folder, const ReplayArgs& args,
                                 const Setup& setup, const Globals& globals, const CommandWords& words) {
  const std::int64_t begin = steady_ns();
  const auto trace = read_trace(path, args.read, globals);
  if (!trace) return fail(trace.error());
  if (Status status = trace::need_durations(*trace); !status) return fail(status.error());
  twin::ReplaySummary summary;
  summary.load_s = static_cast<double>(steady_ns() - begin) * 1e-9;
  const twin::Workload workload(*trace, setup.options.ties);
  twin::ReplayOptions options = setup.options;
  if (args.compat == "astraea" && options.cluster.tenants.empty()) {
    options.cluster.tenants = twin::tenants_of(*trace);
    log_info(
        fmt::format("{} tenants by name with equal shares: the cluster file has none", options.cluster.tenants.size()));
  }
  summary.notes = twin::replay_notes(workload, options);
  for (const std::string& note : summary.notes) log_warning(note);
  auto runs = twin::replay_all(workload, setup.policies, setup.params, options, args.jobs);
  if (!runs) return fail(runs.error());
  summary.trace = &*trace;
  summary.nodes = setup.options.cluster.nodes.size();
  summary.gpus = setup.options.cluster.gpus();
  summary.placement = cluster::placement_name(setup.options.placement);
  summary.runs = std::move(*runs);
  for (const twin::RunResult& run : summary.runs)
    log_debug(fmt::format("{}: {} events in {:.3f} s", run.policy, format_count(run.events), run.wall_s));
  log_debug(fmt::format("{} policies, {} at a time: {:.3f} s in all", summary.runs.size(), args.jobs,
                        static_cast<double>(steady_ns() - begin) * 1e-9));
  if (!folder.empty()) {
    const Status written = write_folder(
        folder, {{"run.json", words.run_json(globals, &setup.params)},
                 {"summary.json", twin::to_json(summary)},
                 {"series.csv", twin::series_csv(summary)},
                 {"jobs.csv", twin::jobs_csv(summary, workload)},
                 {"report.html", twin::replay_report(summary, workload, setup.options.cluster, words.line())}});
    if (!written) return fail(written.error());
  }
  return result_text(summary, globals);
}

// Nothing is printed before the last trace has been replayed: an error leaves standard output empty.
Status run_replay(const ReplayArgs& args, const Globals& globals, const CommandWords& words) {
  auto setup = parse(args, globals);
  if (!setup) return fail(setup.error());
  setup->options.colocation = &setup->colocation;
  if (setup->rates) setup->options.rates = &*setup->rates;
  const std::vector<std::string> folders = folder_names(args.traces);
  std::vector<std::string> results;
  for (std::size_t i = 0; i < args.traces.size() && !interrupted(); ++i) {
    std::string folder = globals.out_dir;
    if (!folder.empty() && args.traces.size() > 1) folder = (std::filesystem::path(folder) / folders[i]).string();
    auto result = replay_trace(args.traces[i], folder, args, *setup, globals, words);
    if (!result && result.error().code == Code::kInterrupted && !results.empty()) break;
    if (!result) return fail(result.error());
    results.push_back(std::move(*result));
  }
  fmt::print("{}", join_results(args.traces, results, globals.output));
  if (interrupted()) return fail(Code::kInterrupted, "interrupted; the results cover what had finished");
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
  sub->add_option("--compat", args->compat, "policies as another simulator runs them: lucid, astraea or chronus")
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
  sub->add_option(
      "--rates", args->rates,
      "how fast models run on types of GPUs: a file (schema comity.rates/1), or gavel, which is Gavel's table");
  sub->add_option("--set", args->sets, "policy.parameter=value; see `comity policy show NAME`");
  add_read_options(sub, args->read);
  sub->add_option("--jobs", args->jobs, "policies replayed at a time (default 1)")->check(CLI::Range(1, 256));
}

CommandWords command_words(const CLI::App& sub, const ReplayArgs& args, const Globals& globals) {
  CommandWords words(sub);
  words.positional(args.traces);
  words.option("policy", fmt::format("{}", fmt::join(args.policies, ",")));
  words.option("nodes", args.nodes, !args.nodes.empty());
  words.option("cluster", args.cluster, !args.cluster.empty());
  words.option("placement", args.placement);
  words.option("ties", args.ties);
  words.option("mode", args.mode);
  words.option("estimates", args.estimates);
  words.option("noise", fmt::format("{}", args.noise), args.estimates == "noisy");
  words.option("seed", std::to_string(globals.seed));
  for (const std::string& set : args.sets) words.option("set", set);
  words.option("compat", args.compat, !args.compat.empty());
  words.option("colocation", args.colocation, !args.colocation.empty());
  words.option("sharing-scores", args.sharing_scores, !args.sharing_scores.empty());
  words.option("rates", args.rates, !args.rates.empty());
  add_read_words(words, args.read);
  words.option("jobs", std::to_string(args.jobs), false);
  return words;
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
  chosen.folders.push_back(sub);
  sub->callback([args, sub, &chosen] {
    chosen.run = [args, sub](const Globals& globals) {
      return run_replay(*args, globals, command_words(*sub, *args, globals));
    };
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
  chosen.folders.push_back(compare);
  compare->callback([args, compare, &chosen] {
    chosen.run = [args, compare](const Globals& globals) {
      return run_replay(*args, globals, command_words(*compare, *args, globals));
    };
  });
}

}  // namespace comity::cli
