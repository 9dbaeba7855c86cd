// SPDX-License-Identifier: Apache-2.0
#include "workload/model.h"

#include <algorithm>

namespace comity::workload {

bool Model::is_moe_layer(std::int64_t layer) const {
  return has_moe() && layer >= moe.dense_layers && (layer + 1) % moe.every == 0;
}

std::int64_t Model::moe_layers() const {
  if (!has_moe()) return 0;
  return layers / moe.every - std::min(moe.dense_layers, layers) / moe.every;
}

std::int64_t Model::q_width() const {
  return latent.kv_rank > 0 ? heads * (latent.nope + latent.rope) : heads * head_width;
}

std::int64_t Model::kv_width() const { return kv_heads * head_width; }

std::int64_t Model::value_width() const { return heads * (latent.kv_rank > 0 ? latent.value : head_width); }

}  // namespace comity::workload
