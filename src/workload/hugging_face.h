// SPDX-License-Identifier: Apache-2.0
// Hugging Face's config.json, already parsed, as a model. Called by import_model() (model_import.h).
#pragma once

#include <string>

#include "base/toml.h"
#include "workload/model.h"

namespace comity::workload {

[[nodiscard]] Result<Model> import_hugging_face(const TomlTable& config, const std::string& file);

}  // namespace comity::workload
