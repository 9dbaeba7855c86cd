// SPDX-License-Identifier: Apache-2.0
#include "cli/iteration_traffic.h"

#include <fmt/format.h>

#include "base/input.h"
#include "base/json.h"
#include "base/table.h"
#include "workload/traffic.h"

namespace comity::cli {
namespace {

using workload::EdgePath;
using workload::TrafficKind;
using workload::TrafficSums;

constexpr EdgePath kPaths[] = {EdgePath::kNode, EdgePath::kRail, EdgePath::kAcrossRails};
constexpr const char* kPathNames[] = {"node", "rail", "across_rails"};
constexpr std::size_t kMostBytes = std::size_t{4} << 30;  // of a matrix file

std::string to_json(const StepInputs& in, const TrafficSums& sums, std::int64_t ranks) {
  JsonWriter json;
  json.begin_object().field("schema", "comity.traffic/1").field("model", in.model.name).field("ranks", ranks);
  json.key("kinds").begin_object();
  for (std::size_t k = 0; k < workload::kTrafficKinds; ++k) {
    const auto kind = static_cast<TrafficKind>(k);
    json.key(workload::traffic_name(kind)).begin_object().field("total", sums.of(kind));
    for (std::size_t p = 0; p < 3; ++p) json.field(kPathNames[p], sums.bytes[k][p]);
    json.end_object();
  }
  json.end_object().field("total", sums.total).field("most_beyond_node", sums.most_beyond_node);
  return json.end_object().text();
}

Table to_table(const TrafficSums& sums) {
  Table table(
      {{"kind", false}, {"inside a node GB"}, {"along a rail GB"}, {"across rails GB"}, {"all GB"}, {"share %"}});
  const auto cell = [](double bytes) { return Table::Cell{fmt::format("{:.3f}", bytes * 1e-9), bytes}; };
  for (std::size_t k = 0; k < workload::kTrafficKinds; ++k) {
    const auto kind = static_cast<TrafficKind>(k);
    if (sums.of(kind) == 0) continue;
    table.add_row({{std::string(workload::traffic_name(kind))},
                   cell(sums.bytes[k][0]),
                   cell(sums.bytes[k][1]),
                   cell(sums.bytes[k][2]),
                   cell(sums.of(kind)),
                   {fmt::format("{:.1f}", 100 * sums.of(kind) / sums.total)}});
  }
  table.add_row({{"all"},
                 cell(sums.of(kPaths[0])),
                 cell(sums.of(kPaths[1])),
                 cell(sums.of(kPaths[2])),
                 cell(sums.total),
                 {"100.0"}});
  return table;
}

}  // namespace

Status run_traffic(const ExecutionArgs& args, const std::string& csv, const Globals& globals) {
  auto in = load_step(args);
  if (!in) return fail(in.error());
  const workload::RankGrid grid(in->execution);
  const auto by_stage = workload::bytes_by_stage(in->model, in->execution);
  const TrafficSums sums = workload::traffic_sums(grid, by_stage, in->system);
  if (globals.output == Output::kJson || globals.output == Output::kJsonl)
    fmt::print("{}\n", to_json(*in, sums, grid.ranks()));
  else
    fmt::print("{}", globals.output == Output::kCsv ? to_table(sums).csv() : to_table(sums).text(globals.colour));
  if (globals.output == Output::kTable && sums.most_beyond_node > 0)
    fmt::print("the busiest GPU sends {:.3f} GB out of its node\n", sums.most_beyond_node * 1e-9);
  if (csv.empty()) return {};
  std::string text;
  bool whole = true;
  workload::traffic_csv(grid, by_stage, [&](std::string_view piece) {
    whole = whole && text.size() + piece.size() <= kMostBytes;
    if (whole) text += piece;
  });
  if (!whole) return fail(Code::kInput, "the matrix is larger than 4 GiB", "fewer ranks, or the sums alone");
  return write_file(csv, text);
}

}  // namespace comity::cli
