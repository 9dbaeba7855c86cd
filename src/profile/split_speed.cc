// SPDX-License-Identifier: Apache-2.0
#include "profile/split_speed.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "base/toml.h"
#include "profile/library.h"

namespace comity::profile {

Result<SplitTable> parse_splits(std::string_view text, const std::string& file) {
  constexpr std::size_t kMost = 4096;
  auto parsed = parse_toml(text, file);
  if (!parsed) return fail(parsed.error());
  TomlReader root(*parsed, file, "");
  if (root.text("schema", "") != "comity.splits/1") root.refuse("schema", "is not comity.splits/1");
  (void)root.text("source", "");
  SplitTable table;
  for (const char* key : {"gpus", "nodes", "models"}) root.require(key);
  for (const double g : root.reals("gpus", 2, 1024)) table.gpus.push_back(static_cast<std::int64_t>(g));
  for (const double n : root.reals("nodes", 2, 1024)) table.nodes.push_back(static_cast<std::int64_t>(n));
  if (table.gpus.empty() || table.gpus.size() > kMost) root.refuse("gpus", "has no entry, or over 4096");
  if (table.nodes.size() != table.gpus.size()) root.refuse("nodes", "has not one number for each of gpus");
  for (TomlReader& row : root.tables("models")) {
    SplitTable::Model model;
    for (const char* key : {"name", "speeds"}) row.require(key);
    model.name = row.text("name", "");
    model.aliases = row.texts("aliases");
    model.speeds = row.reals("speeds", 1e-6, 2);
    if (model.speeds.size() != table.gpus.size()) row.refuse("speeds", "has not one number for each of gpus");
    if (auto status = row.finish(); !status) return fail(status.error());
    table.models.push_back(std::move(model));
  }
  if (table.models.empty()) root.refuse("models", "is empty");
  if (auto status = root.finish(); !status) return fail(status.error());
  return table;
}

double SplitTable::speed(std::string_view model, std::uint32_t gpus_of_job, std::uint32_t nodes_of_job) const {
  if (gpus_of_job < 2 || nodes_of_job < 2) return 1;
  std::size_t best = 0;
  const auto better = [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const bool enough = gpus[i] >= gpus_of_job;
      const bool within = nodes[i] <= nodes_of_job;
      return std::array<std::int64_t, 4>{enough ? 0 : 1, enough ? gpus[i] : -gpus[i], within ? 0 : 1,
                                         within ? -nodes[i] : nodes[i]};
    };
    return key(a) < key(b);
  };
  for (std::size_t i = 1; i < gpus.size(); ++i) best = better(i, best) ? i : best;
  double slowest = 2;
  for (const Model& m : models) {
    const bool named = equal_ignoring_case(m.name, model) ||
                       std::any_of(m.aliases.begin(), m.aliases.end(),
                                   [&](const std::string& a) { return equal_ignoring_case(a, model); });
    if (named) return m.speeds[best];
    slowest = std::min(slowest, m.speeds[best]);
  }
  return slowest;
}

double split_speed(std::string_view model, std::uint32_t gpus, std::uint32_t nodes) {
  static const SplitTable table = [] {
    auto parsed = parse_splits(library_splits().front().text, "chronus");
    COMITY_CHECK(parsed.has_value());
    return *std::move(parsed);
  }();
  return table.speed(model, gpus, nodes);
}

std::span<const std::vector<std::uint32_t>> splits(std::uint32_t gpus) {
  static const std::array<std::vector<std::vector<std::uint32_t>>, 9> all = {{
      {},
      {{1}},
      {{2}, {1, 1}},
      {{3}, {2, 1}},
      {{4}, {2, 2}},
      {{5}, {3, 2}, {2, 2, 1}},
      {{6}, {4, 2}, {2, 2, 2}},
      {{7}, {6, 1}, {4, 3}, {3, 2, 2}},
      {{8}, {4, 4}, {6, 2}, {4, 2, 2}, {2, 2, 2, 2}},
  }};
  return gpus < all.size() ? all[gpus] : std::span<const std::vector<std::uint32_t>>();
}

}  // namespace comity::profile
