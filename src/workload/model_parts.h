// SPDX-License-Identifier: Apache-2.0
// Weights of the matrices of a model, without biases and norms: what the counts of parameters and of FLOPs share.
#pragma once

#include "workload/model.h"

namespace comity::workload {

[[nodiscard]] double attention_weights(const Model& model);              // of one attention block
[[nodiscard]] double mlp_weights(const Model& model, std::int64_t ffn);  // of one feed-forward
[[nodiscard]] double patch_weights(const Model& model);                  // kVision: the projection of a patch
[[nodiscard]] double mtp_projection_weights(const Model& model);         // of one multi-token prediction layer
[[nodiscard]] inline double dense_layers(const Model& model) {           // of the decoder, with a dense feed-forward
  return static_cast<double>(model.layers - model.moe_layers());
}
// An MTP layer is what the last layer of the model is.
[[nodiscard]] inline bool mtp_is_moe(const Model& model) { return model.is_moe_layer(model.layers - 1); }

}  // namespace comity::workload
