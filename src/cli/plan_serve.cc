// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/execution_options.h"
#include "cli/option_checks.h"
#include "cli/plan_output.h"
#include "cli/plan_verbs.h"
#include "plan/serve.h"

namespace comity::cli {
namespace {

constexpr std::int64_t kMostNodes = 256;
constexpr std::int64_t kMostTokens = 5'000'000;  // of all requests: half a minute

struct Args {
  std::string model;
  std::vector<std::string> nodes;
  std::string allocator = "dynamic";
  double rtt_ms = 20;
  double client_rtt_ms = 50;
  double arrivals = 1;
  std::int64_t requests = 200;
  std::int64_t prompt = 128;
  std::int64_t tokens = 64;
};

// What may be said of the links between nodes.
enum Mode : unsigned { kOneNode = 1, kSeveral = 2 };
constexpr GoesWith kGoesWith[] = {{"--rtt-ms", kSeveral, "two or more nodes"}};

// "name=system:gpus:count", one node where the count is left out; several get a number each.
Status add_nodes(const std::string& text, const workload::Model& model, plan::ServeQuestion& q) {
  const auto refuse = [&](const std::string& why) -> Status {
    return fail(Error{Code::kUsage,
                      fmt::format("--node {}: {}", printable(text, 80), why),
                      {},
                      0,
                      "node",
                      "write name=system:gpus:count, for example home=rtx4090:2:6",
                      {}});
  };
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos || equal == 0) return refuse("has no name");
  const auto parts = split(std::string_view(text).substr(equal + 1), ':');
  if (parts.size() < 2 || parts.size() > 3) return refuse("names no system and number of GPUs");
  auto system = load_machine(std::string(parts[0]));
  if (!system) return fail(system.error());
  const auto gpus = parse_int(parts[1]);
  if (!gpus || *gpus < 1 || *gpus > 1024) return refuse("the GPUs of a node must lie between 1 and 1,024");
  const auto count = parts.size() == 3 ? parse_int(parts[2]) : std::optional<std::int64_t>(1);
  if (!count || *count < 1 || *count > kMostNodes) return refuse("the number of nodes must lie between 1 and 256");
  if (static_cast<std::int64_t>(q.nodes.size()) + *count > kMostNodes) return refuse("more than 256 nodes in all");
  const std::string name = text.substr(0, equal);
  for (std::int64_t i = 1; i <= *count; ++i) {
    const std::string own = *count > 1 ? fmt::format("{}{}", name, i) : name;
    if (std::any_of(q.nodes.begin(), q.nodes.end(), [&](const plan::ServeNode& n) { return n.name == own; }))
      return refuse(fmt::format("two nodes have the name '{}'", printable(own)));
    q.nodes.push_back(plan::serve_node(own, model, *system, *gpus));
  }
  return {};
}

Result<plan::ServeQuestion> question_of(const Args& args, const workload::Model& model, std::uint64_t seed) {
  plan::ServeQuestion q;
  for (const std::string& text : args.nodes)
    if (auto status = add_nodes(text, model, q); !status) return fail(status.error());
  for (plan::ServeNode& node : q.nodes) node.client_rtt_s = args.client_rtt_ms * 1e-3;
  q.layers = model.layers;
  q.hidden = model.hidden;
  q.default_rtt_s = args.rtt_ms * 1e-3;
  if (args.allocator == "greedy") q.allocator = plan::Allocator::kGreedy;
  if (args.allocator == "petals") q.allocator = plan::Allocator::kPetals;
  q.requests = args.requests;
  q.arrivals_per_s = args.arrivals;
  q.prompt_tokens = args.prompt;
  q.output_tokens = args.tokens;
  q.seed = seed;
  return q;
}

CommandWords words_of(const CLI::App& sub, const Args& args, const Globals& globals) {
  CommandWords words(sub);
  words.option("model", args.model);
  for (const std::string& node : args.nodes) words.option("node", node);
  words.option("allocator", args.allocator);
  words.option("rtt-ms", fmt::format("{}", args.rtt_ms));
  words.option("client-rtt-ms", fmt::format("{}", args.client_rtt_ms));
  words.option("arrivals-per-s", fmt::format("{}", args.arrivals));
  words.option("requests", std::to_string(args.requests));
  words.option("prompt-tokens", std::to_string(args.prompt));
  words.option("output-tokens", std::to_string(args.tokens));
  words.option("seed", std::to_string(globals.seed));
  return words;
}

// Draws the progress of simulations that say nothing of themselves until they are done.
class Ticker {
 public:
  Ticker(std::uint64_t total, bool quiet)
      : progress_("serving by each allocator", "simulations", total, quiet),
        thread_([this](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (!wake_.wait_for(lock, stop, std::chrono::milliseconds(200), [&] { return stop.stop_requested(); }))
            progress_.update(done_);
        }) {}
  void done(std::uint64_t simulations) { done_ = simulations; }

 private:
  std::atomic<std::uint64_t> done_ = 0;
  Progress progress_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it ends before what it uses
};

struct Served {
  plan::ServePlan plan;            // by the allocator that was asked for
  plan::FieldRows all_allocators;  // those that can hold the model
};
// One simulation an allocator.
Result<Served> serve(const plan::ServeQuestion& q, bool quiet) {
  const plan::Allocator allocators[] = {plan::Allocator::kDynamic, plan::Allocator::kGreedy, plan::Allocator::kPetals};
  Ticker ticker(std::size(allocators), quiet);
  auto asked = plan::plan_serve(q);
  if (!asked) return fail(asked.error());
  Served out{std::move(*asked), {}};
  std::uint64_t done = 1;
  for (const plan::Allocator allocator : allocators) {
    ticker.done(done);
    if (interrupted()) return fail(Code::kInterrupted, "interrupted before every allocator was simulated");
    plan::ServeQuestion other = q;
    other.allocator = allocator;
    if (allocator == q.allocator) {
      out.all_allocators.push_back(plan::fields(out.plan));
      continue;
    }
    if (const auto plan = plan::plan_serve(other)) out.all_allocators.push_back(plan::fields(*plan));
    ++done;
  }
  return out;
}

Status run(const CLI::App& sub, const Args& args, const Globals& globals) {
  if (args.requests * args.tokens > kMostTokens)
    return fail(Error{Code::kUsage,
                      fmt::format("{} requests of {} tokens are too many to simulate", args.requests, args.tokens),
                      {},
                      0,
                      "requests",
                      fmt::format("at most {} tokens in all", kMostTokens),
                      {}});
  auto model = workload::load_model(args.model);
  if (!model) return fail(model.error());
  if (model->kind != workload::ModelKind::kDecoder)
    return fail_option("--model", fmt::format("{} is no decoder and makes no tokens", printable(model->name)),
                       "comity plan serve simulates decoders, token by token");
  auto q = question_of(args, *model, globals.seed);
  if (!q) return fail(q.error());
  const unsigned mode = q->nodes.size() > 1 ? kSeveral : kOneNode;
  if (auto status = refuse_idle(sub, mode, "about one node", kGoesWith); !status) return status;
  auto got = serve(*q, globals.quiet);
  if (!got) return fail(got.error());
  PlanText text;
  text.schema = "comity.plan_serve/1";
  text.title = fmt::format("{} served by {} nodes", model->name, q->nodes.size());
  text.summary = plan::fields(got->plan);
  text.parts = {{"nodes", "Nodes", plan::node_rows(*q, got->plan)},
                {"allocators", "The same requests under each way to allocate layers", std::move(got->all_allocators)}};
  text.explanation = plan::explain(*q, got->plan);
  return show_plan(text, words_of(sub, args, globals), globals);
}

}  // namespace

void add_plan_serve(CLI::App& noun, Chosen& chosen) {
  CLI::App* sub = noun.add_subcommand("serve", "one model served by unequal nodes over slow links");
  sub->footer(
      "Example: comity plan serve --model llama2-70b --node desk=rtx4090:2:6 --node old=rtx3090:2:4 --node "
      "lab=dgx-a100-40:1:2 --rtt-ms 5");
  auto args = std::make_shared<Args>();
  sub->add_option("--model", args->model, "a model of the library, or a file; a decoder")->required();
  sub->add_option("--node", args->nodes,
                  "name=system:gpus:count, count being 1 where it is left out; once a kind of node")
      ->required();
  sub->add_option("--allocator", args->allocator,
                  "who gets which layers: dynamic (default) or greedy, both Parallax's, or petals")
      ->check(CLI::IsMember({"dynamic", "greedy", "petals"}));
  sub->add_option("--rtt-ms", args->rtt_ms, "round trip between nodes (default 20)")->check(CLI::Range(0.0, 1e5));
  sub->add_option("--client-rtt-ms", args->client_rtt_ms, "from the client to a node and back (default 50)")
      ->check(CLI::Range(0.0, 1e5));
  sub->add_option("--arrivals-per-s", args->arrivals, "requests a second (default 1)")->check(CLI::Range(1e-6, 1e6));
  sub->add_option("--requests", args->requests, "simulated (default 200)")->check(CLI::Range(1, 100'000));
  sub->add_option("--prompt-tokens", args->prompt, "of a request (default 128)")->check(CLI::Range(1, 1'000'000));
  sub->add_option("--output-tokens", args->tokens, "of a request (default 64)")->check(CLI::Range(1, 100'000));
  chosen.folders.push_back(sub);
  sub->callback(
      [args, sub, &chosen] { chosen.run = [args, sub](const Globals& globals) { return run(*sub, *args, globals); }; });
}

}  // namespace comity::cli
