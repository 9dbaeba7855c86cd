// SPDX-License-Identifier: Apache-2.0
#include "cli/system_measured.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/input.h"
#include "base/json.h"
#include "base/table.h"
#include "cli/execution_options.h"
#include "cli/option_checks.h"
#include "cli/system_json.h"
#include "workload/measured.h"
#include "workload/own_machine.h"

namespace comity::cli {
namespace {

using workload::MeasuredCase;

struct MeasuredArgs {
  std::string file;
  std::string system;
  std::string cost = "nccl";
  std::vector<std::string> rows;  // ids that were (validate) or shall be (calibrate) fitted on
  std::string gpu;                // only rows of this GPU
  bool cpu = false;
  std::string write;  // calibrate: the file of the fitted machine
};

bool chosen_row(const std::vector<std::string>& rows, const std::string& id) {
  return std::find(rows.begin(), rows.end(), id) != rows.end();
}

Result<std::vector<MeasuredCase>> cases_of(const MeasuredArgs& args) {
  auto cases = workload::read_measured(args.file);
  if (!cases) return cases;
  if (!args.gpu.empty())
    std::erase_if(*cases, [&](const MeasuredCase& c) { return c.skipped.empty() && c.gpu != args.gpu; });
  for (const std::string& row : args.rows) {
    const bool known = std::any_of(cases->begin(), cases->end(), [&](const MeasuredCase& c) { return c.id == row; });
    if (!known)
      return fail(Code::kUsage, fmt::format("no row '{}' in {}", row, args.file),
                  "--rows takes ids as validate prints them");
  }
  return cases;
}

// Ranks with ties shared, then Pearson's coefficient of the ranks.
double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& v) {
    std::vector<double> r;
    for (const double x : v) {
      double rank = 0.5;
      for (const double y : v) rank += y < x ? 1 : y == x ? 0.5 : 0;
      r.push_back(rank);
    }
    return r;
  };
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

struct Agreement {
  std::size_t rows = 0;
  double mean = 0;  // percent
  double most = 0;
  double in_band = 0;   // share
  double spearman = 0;  // over all predicted rows
  double constant = 0;  // mean error of the best constant on all predicted rows, percent
};

Agreement agreement(const std::vector<MeasuredCase>& cases, const std::vector<double>& predicted,
                    const std::vector<std::string>& fitted, double band) {
  Agreement out;
  std::vector<double> values;
  std::vector<double> guesses;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].skipped.empty()) continue;
    values.push_back(cases[i].value);
    guesses.push_back(predicted[i]);
    if (chosen_row(fitted, cases[i].id)) continue;
    const double error = std::abs(predicted[i] / cases[i].value - 1);
    ++out.rows;
    out.mean += 100 * error;
    out.most = std::max(out.most, 100 * error);
    out.in_band += error <= band ? 1 : 0;
  }
  if (out.rows > 0) {
    out.mean /= static_cast<double>(out.rows);
    out.in_band /= static_cast<double>(out.rows);
  }
  out.spearman = spearman(guesses, values);
  if (values.empty()) return out;
  double best = std::numeric_limits<double>::infinity();
  for (const double constant : values) {
    double sum = 0;
    for (const double v : values) sum += std::abs(constant / v - 1);
    best = std::min(best, 100 * sum / static_cast<double>(values.size()));
  }
  out.constant = best;
  return out;
}

std::string set_up(const workload::Execution& e) {
  return fmt::format("t{} p{} d{}{}{} v{} b{}", e.tp, e.pp, e.dp, e.cp > 1 ? fmt::format(" c{}", e.cp) : "",
                     e.ep > 1 ? fmt::format(" e{}", e.ep) : "", e.virtual_stages, e.microbatch);
}

void add_row(const MeasuredCase& c, const workload::Prediction& p, bool fitted, Table& table, JsonWriter& json) {
  const double error = 100 * (p.value / c.value - 1);
  table.add_row({{c.id},
                 {fmt::format("{:.5g}", c.value)},
                 {fmt::format("{:.5g}", p.value)},
                 {std::string(workload::metric_unit(c.metric))},
                 {fmt::format("{:+.2f}", error)},
                 {set_up(p.execution)},
                 {p.estimate.fits ? "yes" : "no"},
                 {fitted ? "fitted on" : ""}});
  json.begin_object().field("id", c.id).field("published", c.value).field("predicted", p.value);
  json.field("unit", workload::metric_unit(c.metric)).field("error_percent", error).field("fitted", fitted);
  json.field("set_up", set_up(p.execution)).field("fits", p.estimate.fits).end_object();
}

Status validate(const MeasuredArgs& args, const Globals& globals) {
  auto cases = cases_of(args);
  if (!cases) return fail(cases.error());
  auto system = load_machine(args.system);
  if (!system) return fail(system.error());
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  Table table({{"row", false},
               {"published"},
               {"predicted"},
               {"unit", false},
               {"error %"},
               {"set-up", false},
               {"fits", false},
               {"note", false}});
  JsonWriter json;
  json.begin_object().field("schema", "comity.validation/1").field("file", args.file).field("system", system->name);
  json.key("rows").begin_array();
  std::vector<double> predicted;
  for (const MeasuredCase& c : *cases) {
    if (!c.skipped.empty()) {
      predicted.push_back(0);
      table.add_row(
          {{c.id}, {fmt::format("{}", c.value)}, {""}, {""}, {""}, {""}, {""}, {"not predicted: " + c.skipped}});
      json.begin_object().field("id", c.id).field("published", c.value).field("skipped", c.skipped).end_object();
      continue;
    }
    const workload::Prediction p = workload::predict(c, *system, *cost);
    predicted.push_back(p.value);
    add_row(c, p, chosen_row(args.rows, c.id), table, json);
  }
  const Agreement a = agreement(*cases, predicted, args.rows, system->error_band);
  json.end_array().field("rows_not_fitted", a.rows).field("mean_error_percent", a.mean);
  json.field("max_error_percent", a.most).field("spearman", a.spearman).field("in_band", a.in_band);
  json.field("error_band", system->error_band).field("constant_predictor_percent", a.constant).end_object();
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    fmt::print("{}\n", json.text());
    return {};
  }
  if (globals.output == Output::kCsv) {
    fmt::print("{}", table.csv());
    return {};
  }
  fmt::print(
      "{}\n{} rows not fitted on: mean error {:.2f} %, largest {:.2f} %, {:.0f} % within the band of {:.0f} %; rank "
      "correlation {:.3f}; the best constant would be {:.2f} % off\n",
      table.text(globals.colour), a.rows, a.mean, a.most, 100 * a.in_band, 100 * system->error_band, a.spearman,
      a.constant);
  return {};
}

// On standard output, or as TOML in the file of --write; JSON is printed in both cases.
Status leave_machine(const workload::System& system, const MeasuredArgs& args, const Globals& globals) {
  if (!args.write.empty())
    if (auto status = write_file(args.write, workload::system_toml(system)); !status) return status;
  return args.write.empty() || globals.output != Output::kTable ? print_machine(system, globals.output) : Status();
}

Status run_own_machine(const MeasuredArgs& args, const Globals& globals) {
  auto start = load_machine(args.system);
  if (!start) return fail(start.error());
  const workload::OwnMachine own = workload::measure_machine(*start, 3);
  Table table({{"m"}, {"n"}, {"k"}, {"measured GFLOP/s"}, {"modelled GFLOP/s"}, {"error %"}});
  for (const workload::MeasuredGemm& p : own.products) {
    table.add_row({{fmt::format("{}", p.m)},
                   {fmt::format("{}", p.n)},
                   {fmt::format("{}", p.k)},
                   {fmt::format("{:.1f}", p.measured_gflop_s)},
                   {fmt::format("{:.1f}", p.modelled_gflop_s)},
                   {fmt::format("{:+.1f}", 100 * (p.modelled_gflop_s / p.measured_gflop_s - 1))}});
  }
  fmt::print(stderr, "{}copies move {:.1f} GB/s\n", table.text(globals.colour), own.copy_gb_s);
  return leave_machine(own.system, args, globals);
}

// What is measured; the bits of GoesWith.
enum Mode : unsigned { kTable = 1, kProcessor = 2 };
constexpr GoesWith kGoesWith[] = {{"measurements", kTable, "no --cpu"},
                                  {"--rows", kTable, "a table of measurements"},
                                  {"--gpu", kTable, "a table of measurements"},
                                  {"--cost", kTable, "a table of measurements"}};

Status run_calibrate(const CLI::App& sub, MeasuredArgs args, const Globals& globals) {
  if (auto status = refuse_idle(sub, args.cpu ? kProcessor : kTable, "beside --cpu", kGoesWith); !status) return status;
  if (auto status = check_machine_output(globals.output); !status) return status;
  if (args.cpu && args.system.empty()) args.system = "cpu";
  if (args.system.empty()) return fail(Code::kUsage, "--system is missing", "comity system list names the library's");
  if (args.cpu) return run_own_machine(args, globals);
  if (args.file.empty()) return fail(Code::kUsage, "measurements are missing", "give a CSV table, or --cpu");
  auto cases = cases_of(args);
  if (!cases) return fail(cases.error());
  auto system = load_machine(args.system);
  if (!system) return fail(system.error());
  auto cost = parse_cost(args.cost);
  if (!cost) return fail(cost.error());
  std::erase_if(*cases, [&](const MeasuredCase& c) {
    return !c.skipped.empty() || (!args.rows.empty() && !chosen_row(args.rows, c.id));
  });
  if (cases->empty()) return fail(Code::kInput, "no row to fit on", "--rows names some");
  workload::Fit fit = workload::calibrate(*system, *cases, *cost);
  std::vector<std::string> ids;
  for (const MeasuredCase& c : *cases) ids.push_back(c.id);
  fit.system.calibrated_on = fmt::format("{}", fmt::join(ids, "; "));
  fmt::print(stderr, "comity: fitted on {} rows: mean error there {:.2f} %, {} estimates\n", cases->size(),
             100 * fit.error, fit.estimates);
  return leave_machine(fit.system, args, globals);
}

// The kinds that workload/measured.h reads, by their columns.
constexpr const char* kKinds =
    "Kinds of tables, by their columns:\n"
    "  model, heads, hidden, layers, seq, vocab, tp, pp, interleave, global_batch, microbatch, full_recompute_s,\n"
    "    seqpar_selective_s: times of a step with full and with selective recomputation\n"
    "  id, gpu, seq, vocab, heads, hidden, layers, tp, pp, dp, global_batch, tflops_per_gpu\n"
    "  tp, cp, pp, dp, seq, batch_per_dp, tflops_per_gpu\n"
    "  scheme, params_b, model_parallel_size, global_batch, gpus, microbatch, tflops_per_gpu\n"
    "  id, metric, value: set-ups that the program knows by their ids\n"
    "  case, forward_ms, backward_ms: one mixture-of-experts block, known by its id\n\n";

void add_measured_options(CLI::App* sub, const std::shared_ptr<MeasuredArgs>& args, const char* rows) {
  sub->add_option("measurements", args->file, "a CSV table of published or own measurements, of one of the kinds below")
      ->required();
  sub->add_option("--system", args->system, "a machine of the library, or a file")->required();
  sub->add_option("--rows", args->rows, rows)->delimiter(',');
  sub->add_option("--gpu", args->gpu, "only rows of this GPU: A100, H100, H800");
  sub->add_option("--cost", args->cost, "what a collective costs: nccl (default) or alpha_beta")
      ->check(CLI::IsMember({"nccl", "alpha_beta"}));
}

}  // namespace

void add_system_validate(CLI::App& noun, Chosen& chosen) {
  CLI::App* check = noun.add_subcommand("validate", "estimates beside measurements, row by row");
  check->footer(std::string(kKinds) + "Example: comity system validate measured.csv --system dgx-a100");
  auto args = std::make_shared<MeasuredArgs>();
  add_measured_options(check, args, "ids of rows that the machine was fitted on: shown, not counted");
  check->callback(
      [args, &chosen] { chosen.run = [args](const Globals& globals) { return validate(*args, globals); }; });
}

void add_system_calibrate(CLI::App& noun, Chosen& chosen) {
  CLI::App* fit = noun.add_subcommand("calibrate", "fit a machine's efficiencies to measurements");
  fit->footer(std::string(kKinds) +
              "Example: comity system calibrate measured.csv --system dgx-a100 --write mine.toml");
  auto fit_args = std::make_shared<MeasuredArgs>();
  add_measured_options(fit, fit_args, "ids of the rows to fit on (default: all)");
  fit->get_option("measurements")->required(false);
  fit->get_option("--system")->required(false);
  fit->add_flag("--cpu", fit_args->cpu, "measure this machine's own processor instead (about 3 s)");
  fit->add_option("--write", fit_args->write, "the file to write (default: standard output)");
  fit->callback([fit, fit_args, &chosen] {
    chosen.run = [fit, fit_args](const Globals& globals) { return run_calibrate(*fit, *fit_args, globals); };
  });
}

}  // namespace comity::cli
