// SPDX-License-Identifier: Apache-2.0
// For tests: clusters with types of GPUs, and rates on them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sched/test_cluster.h"

namespace comity::sched {

// Nodes as (type, GPUs), one each.
inline cluster::ClusterSpec typed_nodes(const std::vector<std::pair<std::string, std::uint32_t>>& nodes) {
  cluster::ClusterSpec spec;
  for (const auto& [type, gpus] : nodes) {
    cluster::NodeSpec& node = spec.nodes.emplace_back();
    node.name = "n" + std::to_string(spec.nodes.size());
    node.gpu_type = type;
    node.gpus = gpus;
  }
  return spec;
}

// Models x, y, z at 4, 3 and 1 times the rate of the slow type on the fast one, which is the reference; "far" runs half
// as fast on two nodes; "picky" runs on the fast one alone.
inline const profile::Rates& test_rates() {
  static const profile::Rates rates = *profile::parse_rates(
      "schema = \"comity.rates/1\"\nreference = \"fast\"\n"
      "[[rates]]\nmodel = \"x\"\ngpus = [1]\npacked.fast = [4]\npacked.slow = [1]\n"
      "[[rates]]\nmodel = \"y\"\ngpus = [1]\npacked.fast = [3]\npacked.slow = [1]\n"
      "[[rates]]\nmodel = \"z\"\ngpus = [1]\npacked.fast = [1]\npacked.slow = [1]\n"
      "[[rates]]\nmodel = \"far\"\ngpus = [1, 2]\npacked.fast = [1, 2]\nspread.fast = [1, 1]\n"
      "[[rates]]\nmodel = \"picky\"\ngpus = [1]\npacked.fast = [1]\npacked.slow = [0]\n",
      "rates");
  return rates;
}

inline profile::Attributes of_model(TestCluster& w, const std::string& name, double weight = -1) {
  profile::Attributes a;
  a.model = w.intern(name);
  a.priority = weight;
  return a;
}
inline double speed(TestCluster& w, std::uint32_t job) { return w.state().running()[w.job(job).slot].speed; }

}  // namespace comity::sched
