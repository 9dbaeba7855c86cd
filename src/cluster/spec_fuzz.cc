// SPDX-License-Identifier: Apache-2.0
// Any bytes as a cluster file: a cluster or an error that says something.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "cluster/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = comity::cluster::parse_cluster(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  COMITY_CHECK(spec ? !spec->nodes.empty() : !spec.error().message.empty());
  return 0;
}
