// SPDX-License-Identifier: Apache-2.0
#include "workload/model_import.h"

#include <algorithm>
#include <filesystem>

#include "base/json_document.h"
#include "workload/hugging_face.h"
#include "workload/model_limits.h"
#include "workload/toml_fields.h"

namespace comity::workload {
namespace {

// What Calculon counts for every application: GPT's blocks with biases, a vocabulary of 51200 and learned positions.
constexpr std::int64_t kCalculonVocabulary = 51200;

Result<Model> import_calculon(const TomlTable& table, const std::string& file) {
  TomlReader reader(table, file, "");
  Model model;
  for (const char* key : {"hidden", "feedforward", "seq_size", "attn_heads", "attn_size", "num_blocks"})
    reader.require(key);
  model.name = reader.text("name", std::filesystem::path(file).stem().string());
  model.source = "a Calculon application";
  model.hidden = reader.integer("hidden", 1, 1, kMaxWidth);
  model.ffn = reader.integer("feedforward", 1, 1, kMaxWidth);
  model.sequence = reader.integer("seq_size", 1, 1, kMaxTokens);
  model.heads = reader.integer("attn_heads", 1, 1, kMaxHeads);
  model.head_width = reader.integer("attn_size", 1, 1, kMaxHeads);
  model.layers = reader.integer("num_blocks", 1, 1, kMaxLayers);
  if (auto status = reader.finish(); !status) return fail(status.error());
  model.kv_heads = model.heads;
  model.vocab = kCalculonVocabulary;
  model.positions = model.sequence;
  return model;
}

}  // namespace

Result<Model> import_model(std::string_view json, const std::string& file) {
  const Result<TomlTable> table = parse_json(json, file);
  if (!table) return fail(table.error());
  const bool calculon = table->contains("feedforward") || table->contains("num_blocks");
  Result<Model> model = calculon ? import_calculon(*table, file) : import_hugging_face(*table, file);
  if (!model) return model;
  if (model->name.empty()) model->name = "imported";
  if (auto status = check_model(*model, file); !status) return fail(at_its_line(status.error(), *table));
  return model;
}

}  // namespace comity::workload
