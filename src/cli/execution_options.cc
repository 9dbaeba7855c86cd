// SPDX-License-Identifier: Apache-2.0
#include "cli/execution_options.h"

#include <cmath>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/input.h"
#include "base/text.h"
#include "workload/execution_limits.h"
#include "workload/model.h"
#include "workload/system.h"

namespace comity::cli {
namespace {

using workload::Datatype;
using workload::Execution;
using workload::Recompute;
using workload::Schedule;

constexpr double kMostSeconds = 1e15;

template <class Enum, class Name>
bool choose(const std::string& text, std::initializer_list<Enum> all, Name name, Enum& out) {
  for (const Enum value : all) {
    if (name(value) != text) continue;
    out = value;
    return true;
  }
  return false;
}

void replace(std::int64_t given, std::int64_t& value) {
  if (given > 0) value = given;
}

void replace_values(const ExecutionArgs& args, Execution& e) {
  replace(args.tp, e.tp);
  replace(args.pp, e.pp);
  replace(args.dp, e.dp);
  replace(args.cp, e.cp);
  replace(args.ep, e.ep);
  replace(args.virtual_stages, e.virtual_stages);
  replace(args.microbatch, e.microbatch);
  replace(args.batch, e.batch);
  replace(args.sequence, e.sequence);
  if (args.zero >= 0) e.zero = args.zero;
  // The names were checked while the line was parsed.
  choose(args.schedule,
         {Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved, Schedule::kZbH1, Schedule::kZbH2,
          Schedule::kDualPipe},
         workload::schedule_name, e.schedule);
  choose(args.recompute, {Recompute::kNone, Recompute::kSelective, Recompute::kFull}, workload::recompute_name,
         e.recompute);
  choose(args.datatype, {Datatype::kBf16, Datatype::kFp16, Datatype::kFp32, Datatype::kFp8}, workload::datatype_name,
         e.datatype);
}

// `error`, about `file`, which should have been TOML.
Error hinted(Error error, const std::string& file) {
  std::error_code failed;
  if (error.code != Code::kInput || !std::filesystem::is_regular_file(file, failed)) return error;
  const auto text = read_document(file);
  if (!text) return error;
  const std::size_t first = text->find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos || (*text)[first] != '{') return error;
  Error json;
  json.code = Code::kInput;
  json.message = "is JSON and not TOML";
  json.file = error.file;
  json.hint = "Calculon's files go with comity iteration estimate --cost calculon";
  return json;
}

CLI::Validator degree() { return CLI::Range(std::int64_t{1}, workload::kMaxDegree); }
CLI::Validator many() { return CLI::Range(std::int64_t{1}, workload::kMaxBatch); }

}  // namespace

void add_execution_options(CLI::App* sub, const std::shared_ptr<ExecutionArgs>& args) {
  sub->add_option("--model", args->model, "a model of the library, or a file: .toml, config.json, Calculon's .json");
  sub->add_option("--execution", args->execution, "a .toml file of how it is run; the flags below replace its values");
  sub->add_option("--system", args->system, "a machine of the library, or a .toml file");
  sub->add_option("--tp", args->tp, "tensor-parallel ranks (default 1)")->check(degree());
  sub->add_option("--pp", args->pp, "pipeline stages (default 1)")->check(degree());
  sub->add_option("--dp", args->dp, "data-parallel replicas (default 1)")->check(degree());
  sub->add_option("--cp", args->cp, "context-parallel ranks (default 1)")->check(degree());
  sub->add_option("--ep", args->ep, "expert-parallel ranks, inside of dp x cp (default 1)")->check(degree());
  sub->add_option("--virtual-stages", args->virtual_stages, "chunks a rank (default 1)")->check(degree());
  sub->add_option("--microbatch", args->microbatch, "sequences of a micro-batch (default 1)")->check(degree());
  sub->add_option("--batch", args->batch, "sequences of a step (default: microbatch x dp x pp)")->check(many());
  sub->add_option("--sequence", args->sequence, "tokens of a sequence (default: the model's)")->check(many());
  sub->add_option("--schedule", args->schedule,
                  "gpipe, 1f1b (default), interleaved (default with --virtual-stages), zb_h1, zb_h2 or dualpipe")
      ->check(CLI::IsMember({"gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "dualpipe"}));
  sub->add_option("--recompute", args->recompute, "none (default), selective or full")
      ->check(CLI::IsMember({"none", "selective", "full"}));
  sub->add_option("--datatype", args->datatype, "bf16 (default), fp16, fp32 or fp8")
      ->check(CLI::IsMember({"bf16", "fp16", "fp32", "fp8"}));
  sub->add_option("--zero", args->zero, "0 = plain data parallel (default), 1 to 3 = ZeRO stage")
      ->check(CLI::Range(0, 3));
}

void say_execution_options(CommandWords& words, const ExecutionArgs& args) {
  const auto number = [&](const char* name, std::int64_t value) {
    words.option(name, std::to_string(value), value > 0);
  };
  words.option("model", args.model, !args.model.empty());
  words.option("execution", args.execution, !args.execution.empty());
  words.option("system", args.system, !args.system.empty());
  words.option("cost", args.cost);
  number("tp", args.tp);
  number("pp", args.pp);
  number("dp", args.dp);
  number("cp", args.cp);
  number("ep", args.ep);
  number("virtual-stages", args.virtual_stages);
  number("microbatch", args.microbatch);
  number("batch", args.batch);
  number("sequence", args.sequence);
  words.option("schedule", args.schedule, !args.schedule.empty());
  words.option("recompute", args.recompute, !args.recompute.empty());
  words.option("datatype", args.datatype, !args.datatype.empty());
  words.option("zero", std::to_string(args.zero), args.zero >= 0);
}

Result<workload::System> load_machine(const std::string& name_or_file) {
  auto system = workload::load_system(name_or_file);
  if (!system) return fail(hinted(system.error(), name_or_file));
  return system;
}

Result<Execution> load_execution(const std::string& file) {
  auto execution = workload::load_execution(file);
  if (!execution) return fail(hinted(execution.error(), file));
  return execution;
}

Result<workload::CostModel> parse_cost(const std::string& name) {
  if (name == "nccl") return workload::CostModel::kNccl;
  if (name == "alpha_beta") return workload::CostModel::kAlphaBeta;
  return fail(Code::kUsage, fmt::format("--cost {} does not go with these inputs", name), "take nccl or alpha_beta");
}

Result<StepInputs> load_step(const ExecutionArgs& args, workload::Model model, Execution execution) {
  StepInputs in{std::move(model), std::move(execution), {}, {}};
  if (args.system.empty()) return fail(Code::kUsage, "--system is missing", "comity system list names the library's");
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  in.cost = *cost;
  auto system = load_machine(args.system);
  if (!system) return fail(system.error());
  in.system = std::move(*system);
  replace_values(args, in.execution);
  auto status = workload::check_model(in.model, args.model);
  if (status) status = workload::check_execution(in.execution, in.model, in.system, args.execution);
  if (!status) return fail(status.error());
  return in;
}

Result<StepInputs> load_step(const ExecutionArgs& args) {
  if (args.model.empty()) return fail(Code::kUsage, "--model is missing", "comity model list names the library's");
  auto model = workload::load_model(args.model);
  if (!model) return fail(model.error());
  if (!args.execution.empty()) {
    auto execution = load_execution(args.execution);
    if (!execution) return fail(execution.error());
    return load_step(args, std::move(*model), std::move(*execution));
  }
  Execution e;
  replace_values(args, e);
  e.sequence_parallel = e.tp > 1;
  if (args.batch == 0) e.batch = e.microbatch * e.dp * e.pp;
  if (e.virtual_stages > 1 && args.schedule.empty()) e.schedule = Schedule::kInterleaved;
  return load_step(args, std::move(*model), std::move(e));
}

Status check_seconds(double seconds, const std::string& inputs) {
  if (std::isfinite(seconds) && seconds < kMostSeconds) return {};
  return fail(Code::kFailed, fmt::format("a step would take {:.4g} s with {}", seconds, printable(inputs, 400)),
              "look for rates near 0 and for sizes that are too large in these");
}

}  // namespace comity::cli
