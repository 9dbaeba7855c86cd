// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/csv.h"
#include "base/input.h"
#include "base/text.h"
#include "cli/option_checks.h"
#include "cli/plan_output.h"
#include "cli/plan_verbs.h"
#include "plan/spot.h"
#include "workload/model.h"

namespace comity::cli {
namespace {

constexpr std::size_t kMostInstances = 64;

struct Args {
  std::string prices;
  std::string model;
  double tokens_b = 0;  // 10^9
  plan::SpotQuestion question;
  std::string goal = "cheapest";
  std::int64_t runs = 1000;
};

const std::vector<std::string> kColumns = {
    "name", "gpu", "gpus", "tflops", "on_demand", "spot", "nic_gb_s", "revocations_per_h", "limit"};

struct Prices {
  std::vector<plan::Instance> instances;
  std::string file;
  std::vector<std::int64_t> lines;  // of each instance
};

// What the training is told by.
enum Mode : unsigned { kModel = 1, kWork = 2 };
constexpr GoesWith kGoesWith[] = {{"--tokens-b", kModel, "--model"}, {"--work-tflop", kWork, "no --model"}};

// The example that the command takes where no table is given: round numbers, no offer of anybody's.
std::vector<plan::Instance> example_prices() {
  return {{"a100x8", "A100", 8, 1200, 32, 12, 12.5, 0.05, 16},
          {"h100x8", "H100", 8, 3300, 88, 45, 50, 0.02, 8},
          {"l4x4", "L4", 4, 160, 4, 1.4, 3, 0.10, 32}};
}

Result<plan::Instance> instance_of(const std::vector<std::string_view>& fields, const std::string& file,
                                   std::int64_t line) {
  plan::Instance out;
  out.name = std::string(trim(fields[0]));
  out.gpu = std::string(trim(fields[1]));
  double numbers[7];
  for (std::size_t i = 0; i < 7; ++i) {
    const auto number = parse_double(trim(fields[i + 2]));
    if (!number || *number < 0 || *number > 1e9)
      return fail(Error{Code::kInput,
                        fmt::format("'{}' is no number from 0 to 10^9", printable(fields[i + 2], 40)),
                        file,
                        line,
                        kColumns[i + 2],
                        {},
                        {}});
    numbers[i] = *number;
  }
  out.gpus = static_cast<std::int64_t>(numbers[0]);
  out.tflops = numbers[1];
  out.on_demand = numbers[2];
  out.spot = numbers[3];
  out.nic_gb_s = numbers[4];
  out.revocations = numbers[5];
  out.limit = static_cast<std::int64_t>(numbers[6]);
  return out;
}

Result<Prices> read_prices(const std::string& path) {
  auto source = open_source(path);
  if (!source) return fail(source.error());
  LineReader lines(std::move(*source), printable(path, 1024));
  Prices out;
  out.file = lines.name();
  std::vector<std::string_view> fields;
  std::string scratch;
  bool header = false;
  for (;;) {
    auto line = lines.next();
    if (!line) return fail(line.error());
    if (line->at_end) break;
    if (trim(line->text).empty()) continue;
    const auto refuse = [&](const std::string& why) {
      return fail(Error{
          Code::kInput, why, lines.name(), line->number, {}, fmt::format("columns: {}", fmt::join(kColumns, ",")), {}});
    };
    if (!split_csv(line->text, ',', fields, scratch) || fields.size() != kColumns.size())
      return refuse(fmt::format("not the {} fields of a price table", kColumns.size()));
    if (!header) {
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (trim(fields[i]) != kColumns[i]) return refuse(fmt::format("column {} is not {}", i + 1, kColumns[i]));
      header = true;
      continue;
    }
    if (out.instances.size() >= kMostInstances) return refuse("more than 64 kinds of machines");
    auto instance = instance_of(fields, lines.name(), line->number);
    if (!instance) return fail(instance.error());
    out.instances.push_back(std::move(*instance));
    out.lines.push_back(line->number);
  }
  if (out.instances.empty())
    return fail(Error{Code::kInput, "the price table has no machine", lines.name(), 0, {}, {}, {}});
  return out;
}

// An error about instances[2].on_demand is one about a column of a line of the table.
Error placed(Error error, const Prices& prices) {
  constexpr std::string_view kBegin = "instances[";
  const std::size_t end = error.field.find("].");
  if (!error.field.starts_with(kBegin) || end == std::string::npos) return error;
  const auto index = parse_int(std::string_view(error.field).substr(kBegin.size(), end - kBegin.size()));
  if (!index || *index < 0 || *index >= static_cast<std::int64_t>(prices.lines.size())) return error;
  error.code = Code::kInput;
  error.file = prices.file;
  error.line = prices.lines[static_cast<std::size_t>(*index)];
  error.field.erase(0, end + 2);
  if (error.field == "revocations") error.field = "revocations_per_h";
  return error;
}

// FLOPs and checkpoint of a whole training.
Status measure_work(const Args& args, plan::SpotQuestion& q) {
  if (args.model.empty()) return {};
  auto model = workload::load_model(args.model);
  if (!model) return fail(model.error());
  if (args.tokens_b <= 0)
    return fail(Error{Code::kUsage, "--tokens-b is missing", {}, 0, "tokens-b", "10^9 tokens of the training", {}});
  const double sequences = args.tokens_b * 1e9 / static_cast<double>(model->sequence);
  q.work_tflop = workload::model_flops(*model, sequences, model->sequence, false) * 1e-12;
  if (q.checkpoint_gb == 0) q.checkpoint_gb = workload::parameters(*model).total * 14e-9 / 8;  // over eight machines
  return {};
}

plan::FieldRows trial_rows(const plan::SpotQuestion& q, const plan::SpotPlan& plan, std::int64_t runs,
                           std::uint64_t seed) {
  plan::FieldRows rows;
  for (const plan::SpotChoice& choice : plan.by_architecture) {
    const plan::SpotTrial trial = plan::simulate_spot(q, choice, runs, seed);
    rows.push_back({plan::words("architecture", plan::architecture_name(choice.architecture)),
                    plan::number("expected", "h", choice.expected_h), plan::number("simulated", "h", trial.mean_h),
                    plan::number("deviation", "h", trial.deviation_h), plan::number("cost", "", trial.mean_cost),
                    plan::number("interruptions", "", trial.mean_interruptions),
                    plan::number("late_share", "", trial.late_share)});
  }
  return rows;
}

CommandWords words_of(const CLI::App& sub, const Args& args, const plan::SpotQuestion& q, const Globals& globals) {
  CommandWords words(sub);
  if (!args.prices.empty()) words.positional({args.prices});
  words.option("model", args.model, !args.model.empty());
  words.option("tokens-b", fmt::format("{}", args.tokens_b), args.tokens_b > 0);
  words.option("work-tflop", fmt::format("{}", q.work_tflop), args.model.empty());
  words.option("goal", args.goal);
  words.option("deadline-h", fmt::format("{}", q.deadline_h), q.deadline_h > 0);
  words.option("budget", fmt::format("{}", q.budget), q.budget > 0);
  words.option("checkpoint-gb", fmt::format("{}", q.checkpoint_gb));
  words.option("restart-s", fmt::format("{}", q.restart_s));
  words.option("interval-s", fmt::format("{}", q.interval_s), q.interval_s > 0);
  words.option("max-machines", std::to_string(q.max_machines));
  words.option("runs", std::to_string(args.runs));
  words.option("seed", std::to_string(globals.seed));
  return words;
}

Status run(const CLI::App& sub, const Args& args, const Globals& globals) {
  plan::SpotQuestion q = args.question;
  const Mode mode = args.model.empty() ? kWork : kModel;
  if (auto status = refuse_idle(sub, mode, mode == kModel ? "beside --model" : "without --model", kGoesWith); !status)
    return status;
  Result<Prices> prices = Prices{example_prices(), {}, {}};
  if (!args.prices.empty()) prices = read_prices(args.prices);
  if (!prices) return fail(prices.error());
  q.instances = prices->instances;
  q.goal = args.goal == "cheapest" ? plan::SpotGoal::kCheapest : plan::SpotGoal::kFastest;
  if (auto status = measure_work(args, q); !status) return status;
  auto got = plan::plan_spot(q);
  if (!got) return fail(placed(got.error(), *prices));
  PlanText text;
  text.schema = "comity.plan_spot/1";
  text.title = fmt::format("{:.4g} x 10^12 FLOP on rented machines", q.work_tflop);
  text.summary = plan::fields(q, *got);
  text.parts = {
      {"architectures", "By architecture", plan::architecture_rows(q, *got)},
      {"instances", "Machines by FLOP/s for the price", plan::instance_rows(q, *got)},
      {"trials", fmt::format("{} simulated trainings", args.runs), trial_rows(q, *got, args.runs, globals.seed)}};
  text.explanation = plan::explain(q, *got);
  return show_plan(text, words_of(sub, args, q, globals), globals);
}

}  // namespace

void add_plan_spot(CLI::App& noun, Chosen& chosen) {
  CLI::App* sub = noun.add_subcommand("spot", "which machines to rent, on demand and interruptible");
  sub->footer("Example: comity plan spot --model llama2-7b --tokens-b 20 --deadline-h 48");
  auto args = std::make_shared<Args>();
  plan::SpotQuestion& q = args->question;
  sub->add_option(
      "prices", args->prices,
      "a price table, CSV: " + fmt::format("{}", fmt::join(kColumns, ",")) + "; none = an example with round numbers");
  sub->add_option("--model", args->model, "a model of the library, or a file; with --tokens-b");
  sub->add_option("--tokens-b", args->tokens_b, "10^9 tokens of the training; with --model")
      ->check(CLI::Range(1e-6, 1e9));
  sub->add_option("--work-tflop", q.work_tflop, "the training in 10^12 FLOP, instead of a model")
      ->check(CLI::Range(1e-6, 1e18));
  sub->add_option("--goal", args->goal, "cheapest (default) within the deadline, or fastest within the budget")
      ->check(CLI::IsMember({"cheapest", "fastest"}));
  sub->add_option("--deadline-h", q.deadline_h, "hours (default: none)")->check(CLI::Range(1e-3, 1e7));
  sub->add_option("--budget", q.budget, "for all of it (default: none)")->check(CLI::Range(1e-3, 1e15));
  sub->add_option("--checkpoint-gb", q.checkpoint_gb, "what a machine writes (default: from the model)")
      ->check(CLI::Range(0.0, 1e9));
  sub->add_option("--restart-s", q.restart_s, "until a new machine has taken over (default 120)")
      ->check(CLI::Range(0.0, 1e7));
  sub->add_option("--interval-s", q.interval_s, "between checkpoints (default: the best)")->check(CLI::Range(1.0, 1e9));
  sub->add_option("--max-machines", q.max_machines, "at most (default 64)")->check(CLI::Range(1, 4096));
  sub->add_option("--runs", args->runs, "simulated trainings (default 1,000)")->check(CLI::Range(1, 1'000'000));
  chosen.folders.push_back(sub);
  sub->callback(
      [args, sub, &chosen] { chosen.run = [args, sub](const Globals& globals) { return run(*sub, *args, globals); }; });
}

}  // namespace comity::cli
