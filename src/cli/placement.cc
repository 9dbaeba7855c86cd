// SPDX-License-Identifier: Apache-2.0
// comity placement list | compare: rules for shared GPUs, and how full a cluster gets under them.
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_words.h"
#include "cli/output_folder.h"
#include "twin/fill.h"
#include "twin/fill_report.h"
#include "twin/share_replay.h"

namespace comity::cli {
namespace {

struct PlacementArgs {
  std::string pods;
  std::string cluster;
  std::vector<std::string> rules = {"all"};
  std::string mode = "fill";
  std::string draw = "inflate";
  std::string scores = "whole";
  std::string ties = "index";
  double target = 1.3;
  std::uint32_t seeds = 10;
  double popularity = 95;
  bool memory = false;
  std::size_t nodes = 0;
  std::size_t jobs = 1;
};

constexpr std::size_t kSyntheticNodes = 64;
constexpr std::size_t kSyntheticPods = 400;

Result<std::vector<cluster::ShareRule>> chosen_rules(const std::vector<std::string>& names) {
  std::vector<cluster::ShareRule> rules;
  const auto add = [&](cluster::ShareRule rule) {
    if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (const cluster::ShareRuleInfo& info : cluster::share_rules()) add(info.rule);
      continue;
    }
    auto rule = cluster::parse_share_rule(name);
    if (!rule) return fail(rule.error());
    add(*rule);
  }
  return rules;
}

struct Inputs {
  twin::ShareNodes nodes;
  twin::PodList pods;
  double load_s = 0;
};

Result<Inputs> read_inputs(const PlacementArgs& args, std::uint64_t seed) {
  const std::int64_t begin = steady_ns();
  Inputs in;
  if (args.pods.empty() != args.cluster.empty())
    return fail_option("--cluster", "and pods go together",
                       "give both files, or neither for a made-up cluster and workload");
  if (args.pods.empty()) {
    in.nodes = twin::synthetic_share_nodes(kSyntheticNodes);
    in.pods = twin::synthetic_pods(kSyntheticPods, seed);
  } else {
    auto nodes = twin::read_share_nodes(args.cluster);
    if (!nodes) return fail(nodes.error());
    in.nodes = std::move(*nodes);
    auto pods = twin::read_pods(args.pods, in.nodes.models);
    if (!pods) return fail(pods.error());
    in.pods = std::move(*pods);
  }
  if (args.nodes > 0 && args.nodes < in.nodes.nodes.size()) {
    // Evenly spaced, so that every stretch of the list is represented.
    std::vector<cluster::ShareNodeSpec> some;
    for (std::size_t i = 0; i < args.nodes; ++i) some.push_back(in.nodes.nodes[i * in.nodes.nodes.size() / args.nodes]);
    in.nodes.nodes = std::move(some);
  }
  in.load_s = static_cast<double>(steady_ns() - begin) * 1e-9;
  log_debug(fmt::format("{} pods and {} nodes read, {:.3f} s", format_count(in.pods.pods.size()),
                        format_count(in.nodes.nodes.size()), in.load_s));
  return in;
}

twin::FillOptions fill_options(const PlacementArgs& args, const Globals& globals) {
  twin::FillOptions o;
  o.target = args.target;
  o.seeds = args.seeds;
  o.seed = globals.seed;
  o.draw = args.draw == "replace" ? twin::Draw::kReplace : twin::Draw::kInflate;
  o.scores = args.scores == "whole" ? cluster::ShareScores::kWhole : cluster::ShareScores::kExact;
  o.ties = args.ties == "index" ? cluster::ShareTies::kIndex : cluster::ShareTies::kRandom;
  o.mix = {.popularity = args.popularity / 100, .memory = args.memory};
  o.threads = args.jobs;
  o.quiet = globals.quiet;
  return o;
}

void print_inputs(const Inputs& in) {
  fmt::print("{}: {} pods, {:.1f} GPUs asked for; {}: {} nodes, {} GPUs ({:.3f} s to read)\n",
             printable(in.pods.path, 400), format_count(in.pods.pods.size()),
             static_cast<double>(in.pods.gpu_milli()) / 1000, printable(in.nodes.path, 400),
             format_count(in.nodes.nodes.size()), format_count(static_cast<std::uint64_t>(in.nodes.gpu_milli() / 1000)),
             in.load_s);
}

void print_fill(const Inputs& in, const twin::FillSummary& summary, const Globals& globals) {
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    fmt::print("{}", twin::to_json(summary));
    return;
  }
  const Table table = twin::to_table(summary);
  if (globals.output == Output::kCsv) {
    fmt::print("{}", table.csv());
    return;
  }
  print_inputs(in);
  fmt::print("{} seeds, up to {:.0f} % of capacity; task mix of {} classes ({:.1f} % of the pods); {:.2f} s\n\n{}",
             summary.options->seeds, 100 * summary.options->target, summary.result.classes,
             100 * summary.result.mix_coverage, summary.wall_s, table.text(globals.colour));
}

Status run_fill(const Inputs& in, const PlacementArgs& args, const std::vector<cluster::ShareRule>& rules,
                const Globals& globals, const CommandWords& words) {
  twin::FillOptions options = fill_options(args, globals);
  options.rules = rules;
  const std::int64_t begin = steady_ns();
  auto result = twin::fill(in.pods, in.nodes, options);
  if (!result) return fail(result.error());
  const twin::FillSummary summary{&in.pods,           &in.nodes, &options,
                                  std::move(*result), in.load_s, static_cast<double>(steady_ns() - begin) * 1e-9};
  print_fill(in, summary, globals);
  if (!globals.out_dir.empty()) {
    auto status = write_folder(globals.out_dir, {{"run.json", words.run_json(globals)},
                                                 {"summary.json", twin::to_json(summary)},
                                                 {"series.csv", twin::curves_csv(summary)},
                                                 {"report.html", twin::fill_report(summary, words.line())}});
    if (!status) return status;
  }
  if (summary.result.partial) return fail(Code::kInterrupted, "interrupted; the results cover what had finished");
  return {};
}

Status run_in_time(const Inputs& in, const PlacementArgs& args, const std::vector<cluster::ShareRule>& rules,
                   const Globals& globals, const CommandWords& words) {
  const twin::FillOptions fill = fill_options(args, globals);
  const twin::ShareReplayOptions options{.rules = rules,
                                         .seed = fill.seed,
                                         .scores = fill.scores,
                                         .ties = fill.ties,
                                         .mix = fill.mix,
                                         .threads = fill.threads,
                                         .quiet = fill.quiet};
  auto runs = twin::share_replay(in.pods, in.nodes, options);
  if (!runs) return fail(runs.error());
  const twin::ShareReplaySummary summary{&in.pods, &in.nodes, &options, std::move(*runs), in.load_s};
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    fmt::print("{}", twin::to_json(summary));
  } else if (globals.output == Output::kCsv) {
    fmt::print("{}", twin::to_table(summary).csv());
  } else {
    print_inputs(in);
    fmt::print("\n{}", twin::to_table(summary).text(globals.colour));
  }
  if (!globals.out_dir.empty()) {
    auto status = write_folder(globals.out_dir, {{"run.json", words.run_json(globals)},
                                                 {"summary.json", twin::to_json(summary)},
                                                 {"series.csv", twin::series_csv(summary)},
                                                 {"report.html", twin::share_replay_report(summary, words.line())}});
    if (!status) return status;
  }
  if (interrupted()) return fail(Code::kInterrupted, "interrupted; the results cover what had finished");
  return {};
}

CommandWords command_words(const CLI::App& sub, const PlacementArgs& args, const Globals& globals) {
  CommandWords words(sub);
  if (!args.pods.empty()) words.positional({args.pods});
  words.option("cluster", args.cluster, !args.cluster.empty());
  words.option("rules", fmt::format("{}", fmt::join(args.rules, ",")));
  words.option("mode", args.mode);
  words.option("target", fmt::format("{}", args.target));
  words.option("seeds", std::to_string(args.seeds));
  words.option("seed", std::to_string(globals.seed));
  words.option("draw", args.draw);
  words.option("scores", args.scores);
  words.option("ties", args.ties);
  words.option("popularity", fmt::format("{}", args.popularity), args.popularity != 95);
  words.flag("memory", args.memory);
  words.option("nodes", std::to_string(args.nodes), args.nodes > 0);
  words.option("jobs", std::to_string(args.jobs), false);
  return words;
}

Status run_compare(const CLI::App& sub, const PlacementArgs& args, const Globals& globals) {
  auto rules = chosen_rules(args.rules);
  if (!rules) return fail(rules.error());
  auto in = read_inputs(args, globals.seed);
  if (!in) return fail(in.error());
  if (args.mode == "time") return run_in_time(*in, args, *rules, globals, command_words(sub, args, globals));
  return run_fill(*in, args, *rules, globals, command_words(sub, args, globals));
}

Status list_rules(const Globals& globals) {
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.placement_rules/1").key("rules").begin_array();
    for (const cluster::ShareRuleInfo& info : cluster::share_rules())
      json.begin_object().field("name", info.name).field("summary", info.summary).end_object();
    fmt::print("{}\n", json.end_array().end_object().text());
    return {};
  }
  Table table({{"rule", false}, {"where a request goes", false}});
  for (const cluster::ShareRuleInfo& info : cluster::share_rules()) table.add_row({{info.name}, {info.summary}});
  fmt::print("{}", globals.output == Output::kCsv ? table.csv() : table.text(globals.colour));
  return {};
}

void add_compare_options(CLI::App* sub, const std::shared_ptr<PlacementArgs>& args) {
  sub->add_option("pods", args->pods, "pods (CSV as openb's pod list); none = made-up pods and nodes");
  sub->add_option("--cluster", args->cluster, "nodes (CSV as openb's node list)");
  sub->add_option("--rules", args->rules, "rules, separated by commas; all = every one (default)")->delimiter(',');
  sub->add_option("--mode", args->mode,
                  "fill: pods arrive and stay (default); time: they come and go at their own times")
      ->check(CLI::IsMember({"fill", "time"}));
  sub->add_option("--target", args->target, "GPUs asked for in all, times capacity (default 1.3)")
      ->check(CLI::Range(0.01, 10.0));
  sub->add_option("--seeds", args->seeds, "runs of each rule (default 10)")->check(CLI::Range(1, 10'000));
  sub->add_option("--draw", args->draw, "inflate: every pod once, then draws (default); replace: draws alone")
      ->check(CLI::IsMember({"inflate", "replace"}));
  sub->add_option("--scores", args->scores, "whole points of 100, as Kubernetes has them (default), or exact")
      ->check(CLI::IsMember({"whole", "exact"}));
  sub->add_option("--ties", args->ties, "among equal nodes the first in the list (index, default) or one at random")
      ->check(CLI::IsMember({"index", "random"}));
  sub->add_option("--popularity", args->popularity, "percent of the pods that the task mix covers (default 95)")
      ->check(CLI::Range(1.0, 100.0));
  sub->add_flag("--memory", args->memory, "let memory count in the fragmentation, too");
  sub->add_option("--nodes", args->nodes, "take this many nodes of the list, evenly spaced")
      ->check(CLI::Range(1, 1'000'000));
  sub->add_option("--jobs", args->jobs, "runs at a time (default: all cores)")->check(CLI::Range(1, 256));
}

}  // namespace

void add_placement(CLI::App& root, Chosen& chosen) {
  CLI::App* noun = root.add_subcommand("placement", "placement of requests for shared GPUs: list, compare");
  noun->require_subcommand(1);
  noun->footer("Example: comity placement list");
  CLI::App* list = noun->add_subcommand("list", "every rule in a line");
  list->footer("Example: comity placement list -o json");
  list->callback([&chosen] { chosen.run = list_rules; });
  CLI::App* compare = noun->add_subcommand("compare", "fill a cluster of shared GPUs under several rules");
  compare->footer("Example: comity placement compare --rules fgd,bestfit,random --seeds 3");
  auto args = std::make_shared<PlacementArgs>();
  args->jobs = std::max(1U, std::thread::hardware_concurrency());
  add_compare_options(compare, args);
  chosen.folders.push_back(compare);
  compare->callback([args, compare, &chosen] {
    chosen.run = [args, compare](const Globals& globals) { return run_compare(*compare, *args, globals); };
  });
}

}  // namespace comity::cli
