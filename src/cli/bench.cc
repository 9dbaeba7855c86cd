// SPDX-License-Identifier: Apache-2.0
// comity bench [queue|replay|step]: the speeds that the README states, measured here and now, each answer checked.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/bench_step.h"
#include "cli/command.h"
#include "sim/queue_speed.h"
#include "trace/reader.h"
#include "twin/replay.h"

namespace comity::cli {
namespace {

// Poisson arrivals at the offered load on `gpus`, sizes 1 to 8, exponential run times: deterministic.
trace::Trace steady_trace(std::size_t jobs, double gpus, double load, std::uint64_t seed) {
  trace::Trace trace;
  trace.path = fmt::format("{} synthetic jobs at load {}", format_count(jobs), load);
  trace.format = "synthetic";
  trace.rows.resize(jobs);
  Rng rng(seed);
  constexpr double kMeanGpus = (1 * 5 + 2 * 2 + 4 * 2 + 8) / 10.0;
  constexpr double kMeanRun = 3600;
  double at = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    constexpr std::uint32_t kSizes[] = {1, 1, 1, 1, 1, 2, 2, 4, 4, 8};
    at += rng.exponential(kMeanGpus * kMeanRun / (gpus * load));
    trace::Row& row = trace.rows[i];
    row.id = static_cast<std::int64_t>(i);
    row.submit = from_seconds(at);
    row.duration = from_seconds(1 + rng.exponential(kMeanRun));
    row.request.shape.gpus = kSizes[rng.below(10)];
  }
  return trace;
}

tl::unexpected<Error> stopped() {
  return fail(Code::kInterrupted, "interrupted; what had been measured is in the result");
}

Status bench_queue(std::vector<Measured>& out) {
  for (const std::size_t pending : {std::size_t{1000}, std::size_t{1'000'000}}) {
    if (interrupted()) return stopped();
    out.push_back({fmt::format("event queue, {} pending", format_count(pending)),
                   sim::measure_event_queue(pending, 4'000'000) * 1e-6, "M push+pop/s", "hold model, order checked"});
  }
  return {};
}

Status bench_trace(const trace::Trace& trace, const std::vector<std::string>& policies, cluster::Placement placement,
                   std::vector<Measured>& out) {
  twin::ReplayOptions options;
  auto spec = cluster::parse_nodes("64x8");
  if (!spec) return fail(spec.error());
  options.cluster = std::move(*spec);
  options.placement = placement;
  options.mode = twin::Mode::kSkip;
  const twin::Workload workload(trace, twin::Ties::kId);
  const Params params = sched::all_params();
  for (const std::string& name : policies) {
    if (interrupted()) return stopped();
    auto info = sched::find_policy(name);
    if (!info) return fail(info.error());
    auto run = twin::replay(workload, **info, params, options);
    if (!run) return fail(run.error());
    if (run->partial) return stopped();  // its time is not that of the whole trace
    out.push_back(
        {fmt::format("{} jobs, {}, {}", format_count(trace.rows.size()), cluster::placement_name(placement), name),
         run->wall_s, "s", fmt::format("sums conserved, fingerprint {}", hex64(run->fingerprint))});
  }
  return {};
}

std::vector<std::string> all_policies() {
  std::vector<std::string> names;
  for (const sched::PolicyInfo& info : sched::registry()) names.push_back(info.name);
  return names;
}

Status bench_replay(const std::string& file, std::size_t jobs, std::uint64_t seed, std::vector<Measured>& out) {
  if (file.empty())
    return bench_trace(steady_trace(jobs, 512, 0.9, seed), {"fifo", "sing"}, cluster::Placement::kBestFit, out);
  const std::int64_t begin = steady_ns();
  auto trace = trace::read_trace(file, {});
  if (!trace) return fail(trace.error());
  out.push_back({"reading " + printable(file, 400), static_cast<double>(steady_ns() - begin) * 1e-9, "s",
                 fmt::format("{} jobs", format_count(trace->rows.size()))});
  if (auto status = bench_trace(*trace, all_policies(), cluster::Placement::kCount, out); !status) return status;
  return bench_trace(*trace, all_policies(), cluster::Placement::kBestFit, out);
}

void print(const std::vector<Measured>& list, bool partial, const Globals& globals) {
  if (globals.output == Output::kJson || globals.output == Output::kJsonl) {
    JsonWriter json;
    json.begin_object().field("schema", "comity.bench/1").key("results").begin_array();
    for (const Measured& m : list)
      json.begin_object()
          .field("name", m.name)
          .field("value", m.value)
          .field("unit", m.unit)
          .field("note", m.note)
          .end_object();
    json.end_array();
    if (partial) json.field("partial", true);
    fmt::print("{}\n", json.end_object().text());
    return;
  }
  Table table({{"what", false}, {"value"}, {"unit", false}, {"checked", false}});
  for (const Measured& m : list) table.add_row({{m.name}, {format_double(m.value, 3), m.value}, {m.unit}, {m.note}});
  fmt::print("{}", globals.output == Output::kCsv ? table.csv() : table.text(globals.colour));
}

}  // namespace

void add_bench(CLI::App& root, Chosen& chosen) {
  CLI::App* sub = root.add_subcommand("bench", "measure the speeds that the README states");
  sub->footer("Example: comity bench replay --trace philly_82k.csv.gz");
  struct Args {
    std::string name = "all";
    std::string trace;
    std::size_t jobs = 1'000'000;
  };
  auto args = std::make_shared<Args>();
  sub->add_option("name", args->name, "queue, replay, step or all (default)")
      ->check(CLI::IsMember({"queue", "replay", "step", "all"}));
  sub->add_option("--trace", args->trace, "a trace to replay on 64x8 (default: a synthetic one)");
  sub->add_option("--jobs", args->jobs, "jobs of the synthetic trace (default 1,000,000)")
      ->check(CLI::Range(1, 100'000'000));
  sub->callback([args, &chosen] {
    chosen.run = [args](const Globals& globals) -> Status {
      std::vector<Measured> list;
      Status status;
      const auto wanted = [&](const char* name) { return args->name == name || args->name == "all"; };
      if (wanted("queue")) status = bench_queue(list);
      if (status && wanted("step")) status = bench_step(list);
      if (status && wanted("replay")) status = bench_replay(args->trace, args->jobs, globals.seed, list);
      const bool partial = !status && status.error().code == Code::kInterrupted;
      if (status || (partial && !list.empty())) print(list, partial, globals);
      return status;
    };
  });
}

}  // namespace comity::cli
