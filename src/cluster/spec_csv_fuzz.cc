// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/limits.h"
#include "cluster/spec_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool list = comity::cluster::is_node_list(text);
  const auto spec = comity::cluster::parse_node_list(text, "fuzz");
  if (!spec) {
    COMITY_CHECK(!spec.error().message.empty() && spec.error().line >= 1);
    return 0;
  }
  COMITY_CHECK(list && !spec->nodes.empty());
  for (const comity::cluster::NodeSpec& node : spec->nodes) {
    COMITY_CHECK(!node.name.empty() && node.gpus >= 1 && node.gpus <= comity::limits::kGpusPerNode);
  }
  return 0;
}
