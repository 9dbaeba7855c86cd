// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/execution_options.h"
#include "cli/option_checks.h"
#include "cli/plan_output.h"
#include "cli/plan_verbs.h"
#include "plan/hetero.h"
#include "workload/execution_limits.h"

namespace comity::cli {
namespace {

struct Args {
  std::string model;
  std::string cost = "nccl";
  std::vector<std::string> clusters;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  double cross_gb_s = 1.25;
  double cross_latency_us = 50;
};

const std::vector<std::string> kNics = {"infiniband", "roce", "ethernet"};

// What may be said of the networks between clusters.
enum Mode : unsigned { kOneCluster = 1, kSeveral = 2 };
constexpr GoesWith kGoesWith[] = {{"--cross-gb-s", kSeveral, "two or more of --cluster"},
                                  {"--cross-latency-us", kSeveral, "two or more of --cluster"}};

// "name=system:gpus:nic", the nic "infiniband" where it is left out.
Result<plan::HeteroCluster> parse_cluster(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return fail(Error{Code::kUsage,
                      fmt::format("--cluster {}: {}", printable(text, 80), why),
                      {},
                      0,
                      "cluster",
                      "write name=system:gpus:nic, for example old=dgx-a100:64:roce",
                      {}});
  };
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos || equal == 0) return refuse("has no name");
  const auto parts = split(std::string_view(text).substr(equal + 1), ':');
  if (parts.size() < 2 || parts.size() > 3) return refuse("names no system and number of GPUs");
  plan::HeteroCluster out;
  out.name = text.substr(0, equal);
  auto system = load_machine(std::string(parts[0]));
  if (!system) return fail(system.error());
  out.system = std::move(*system);
  const auto gpus = parse_int(parts[1]);
  if (!gpus || *gpus < 1 || *gpus > 1'000'000) return refuse("the number of GPUs must lie between 1 and 1,000,000");
  out.gpus = *gpus;
  out.nic = parts.size() == 3 ? std::string(parts[2]) : kNics.front();
  for (char& c : out.nic) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::find(kNics.begin(), kNics.end(), out.nic) == kNics.end())
    return refuse(fmt::format("the NIC is none of {}", fmt::join(kNics, ", ")));
  return out;
}

Result<std::vector<plan::HeteroCluster>> clusters_of(const Args& args) {
  std::vector<plan::HeteroCluster> out;
  for (const std::string& text : args.clusters) {
    auto cluster = parse_cluster(text);
    if (!cluster) return fail(cluster.error());
    if (std::any_of(out.begin(), out.end(), [&](const plan::HeteroCluster& c) { return c.name == cluster->name; }))
      return fail_option("cluster", fmt::format("two clusters have the name '{}'", printable(cluster->name)),
                         "give each a name of its own");
    out.push_back(std::move(*cluster));
  }
  return out;
}

Status run(const CLI::App& sub, const Args& args, const Globals& globals) {
  plan::HeteroQuestion q;
  auto model = workload::load_model(args.model);
  if (!model) return fail(model.error());
  q.model = std::move(*model);
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  q.cost = *cost;
  auto clusters = clusters_of(args);
  if (!clusters) return fail(clusters.error());
  q.clusters = std::move(*clusters);
  const unsigned mode = q.clusters.size() > 1 ? kSeveral : kOneCluster;
  if (auto status = refuse_idle(sub, mode, "about one cluster", kGoesWith); !status) return status;
  q.base.batch = args.batch;
  q.base.sequence = args.sequence;
  q.base.zero = 1;
  q.cross_gb_s = args.cross_gb_s;
  q.cross_latency_us = args.cross_latency_us;
  auto got = plan::plan_hetero(q);
  if (!got) return fail(got.error());
  const std::string inputs = fmt::format("{} on {}", args.model, fmt::join(args.clusters, " and "));
  if (auto status = check_seconds(got->step_s, inputs); !status) return status;
  PlanText text;
  text.schema = "comity.plan_hetero/1";
  text.title = fmt::format("{} over {} clusters", q.model.name, q.clusters.size());
  text.summary = renamed(plan::fields(*got), "stages", "stage_count");
  text.parts = {{"stages", "Stages", plan::stage_rows(q, *got)}};
  text.explanation = plan::explain(q, *got);
  CommandWords words(sub);
  words.option("model", args.model);
  for (const std::string& cluster : args.clusters) words.option("cluster", cluster);
  words.option("batch", std::to_string(args.batch));
  words.option("sequence", std::to_string(args.sequence), args.sequence > 0);
  words.option("cross-gb-s", fmt::format("{}", args.cross_gb_s));
  words.option("cross-latency-us", fmt::format("{}", args.cross_latency_us));
  words.option("cost", args.cost);
  return show_plan(text, words, globals);
}

}  // namespace

void add_plan_hetero(CLI::App& noun, Chosen& chosen) {
  CLI::App* sub = noun.add_subcommand("hetero", "one model over clusters of different GPUs and networks");
  sub->footer(
      "Example: comity plan hetero --model llama2-13b --cluster new=dgx-a100:32:infiniband --cluster "
      "old=mi300x:16:roce --batch 256");
  auto args = std::make_shared<Args>();
  sub->add_option("--model", args->model, "a model of the library, or a file")->required();
  sub->add_option("--cluster", args->clusters,
                  "name=system:gpus:nic; nic is infiniband (default), roce or ethernet; once a cluster")
      ->required();
  sub->add_option("--batch", args->batch, "sequences of a step")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, workload::kMaxBatch));
  sub->add_option("--sequence", args->sequence, "tokens of a sequence (default: the model's)")
      ->check(CLI::Range(std::int64_t{1}, workload::kMaxBatch));
  sub->add_option("--cross-gb-s", args->cross_gb_s, "what a GPU sends to another cluster (default 1.25)")
      ->check(CLI::Range(0.001, 1e6));
  sub->add_option("--cross-latency-us", args->cross_latency_us, "of a message there (default 50)")
      ->check(CLI::Range(0.0, 1e7));
  sub->add_option("--cost", args->cost, "what a collective costs: nccl (default) or alpha_beta")
      ->check(CLI::IsMember({"nccl", "alpha_beta"}));
  chosen.folders.push_back(sub);
  sub->callback(
      [args, sub, &chosen] { chosen.run = [args, sub](const Globals& globals) { return run(*sub, *args, globals); }; });
}

}  // namespace comity::cli
