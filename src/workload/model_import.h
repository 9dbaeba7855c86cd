// SPDX-License-Identifier: Apache-2.0
// Models as others write them down: Hugging Face's config.json and Calculon's application JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/model.h"

namespace comity::workload {

// Told apart by their keys: `feedforward` and `num_blocks` make it Calculon's. Hugging Face's are read by model_type
// (llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, deepseek_v2, deepseek_v3, gpt2, gpt_neox, opt, bloom,
// falcon, gemma, gemma2, phi3, bert, t5, vit); of another type by the keys that most types share, with an error that
// names what is missing. Keys that say nothing of the shape are passed over.
[[nodiscard]] Result<Model> import_model(std::string_view json, const std::string& file);

}  // namespace comity::workload
