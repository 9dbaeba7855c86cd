// SPDX-License-Identifier: Apache-2.0
#include "profile/layers.h"

#include "base/check.h"
#include "base/text.h"
#include "base/toml.h"
#include "profile/library.h"

namespace comity::profile {
namespace {

constexpr std::size_t kMostLayers = 4096;

}  // namespace

Result<LayerTable> parse_layers(std::string_view text, const std::string& file) {
  auto parsed = parse_toml(text, file);
  if (!parsed) return fail(parsed.error());
  TomlReader root(*parsed, file, "");
  if (root.text("schema", "") != "comity.layers/1") root.refuse("schema", "is not comity.layers/1");
  LayerTable table;
  for (const char* key : {"name", "layers", "gflop", "mparam"}) root.require(key);
  table.name = root.text("name", "");
  table.aliases = root.texts("aliases");
  table.source = root.text("source", "");
  table.batch = root.integer("batch", 32, 1, 1 << 20);
  table.epochs = root.integer("epochs", 1, 1, 1'000'000);
  table.tflops = root.real("tflops", 40, 1e-3, 1e6);
  table.layers = root.texts("layers");
  table.gflop = root.reals("gflop", 0, 1e9);
  table.mparam = root.reals("mparam", 0, 1e9);
  if (table.layers.empty() || table.layers.size() > kMostLayers) root.refuse("layers", "has no layer, or over 4096");
  if (table.gflop.size() != table.layers.size()) root.refuse("gflop", "has not one number for each layer");
  if (table.mparam.size() != table.layers.size()) root.refuse("mparam", "has not one number for each layer");
  double work = 0;
  for (const double g : table.gflop) work += g;
  if (work <= 0) root.refuse("gflop", "is no work at all");
  if (auto status = root.finish(); !status) return fail(status.error());
  return table;
}

const std::vector<LayerTable>& layer_tables() {
  static const std::vector<LayerTable> tables = [] {
    std::vector<LayerTable> all;
    for (const LibraryFile& file : library_layers()) {
      auto table = parse_layers(file.text, std::string(file.name));
      COMITY_CHECK(table.has_value());
      all.push_back(std::move(*table));
    }
    return all;
  }();
  return tables;
}

const LayerTable* find_layers(std::string_view model) {
  for (const LayerTable& table : layer_tables()) {
    if (equal_ignoring_case(table.name, model)) return &table;
    for (const std::string& alias : table.aliases) {
      if (equal_ignoring_case(alias, model)) return &table;
    }
  }
  return nullptr;
}

}  // namespace comity::profile
