// SPDX-License-Identifier: Apache-2.0
// GPU fragmentation against a mix of tasks: Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), section 3.
//
// The mix M is a set of task classes m with popularity p_m, sum p_m = 1: what the cluster is expected to run. On node n
// the GPUs left (R_g thousandths of GPU g) that class m cannot use are
//
//   F_n(m) = sum_g R_g                          when m asks for no GPU, or cannot run on n: too little CPU, too few
//   GPUs
//                                               with enough left, or another model is asked for
//          = sum of R_g over R_g < d_m          otherwise, where d_m is what m takes of each GPU
//
// and the fragmentation of the node is its expectation F_n(M) = sum_m p_m F_n(m), that of the cluster the sum over its
// nodes. Weights are whole numbers (how many requests of the class there were) and amounts thousandths of a GPU, so
// that sums and differences are exact: fragmentation is counted in weight() x thousandths, and two states compare alike
// on any machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/share_pool.h"

namespace comity::cluster {

struct TaskClass {
  ShareRequest request;
  std::int64_t weight = 0;
};

struct MixOptions {
  // Classes are taken from the most popular down until they hold this part of all requests, as the paper's artifact
  // does; the rest is left out of the mix. 1 = every class.
  double popularity = 0.95;
  // Whether memory is part of a class and of "cannot run". The artifact leaves it out.
  bool memory = false;
};

class TaskMix {
 public:
  // Classes of equal requests, most popular first, ties by the larger request (CPU, then share, then GPUs, then
  // models). At most 2^24 requests of at most kShareAmount each (checked). O(n log n).
  TaskMix(std::span<const ShareRequest> requests, const MixOptions& options);

  [[nodiscard]] const std::vector<TaskClass>& classes() const { return classes_; }
  [[nodiscard]] std::int64_t weight() const { return weight_; }  // the sum over the classes; 0 for an empty mix
  [[nodiscard]] bool memory() const { return memory_; }

  // F_n(M) in weight() x thousandths of a GPU. O(classes x GPUs).
  [[nodiscard]] std::int64_t fragmentation(const Residual& left) const;

 private:
  std::vector<TaskClass> classes_;
  std::int64_t weight_ = 0;
  bool memory_;
};

// The fragmentation of a pool, kept while requests come and go: after a change to a node, refresh() that node.
// O(classes x GPUs) a refresh.
class FragmentationSum {
 public:
  FragmentationSum(const SharePool& pool, const TaskMix& mix);
  void refresh(std::size_t node);
  [[nodiscard]] std::int64_t node(std::size_t node) const { return of_node_[node]; }
  // In thousandths of a GPU; 0 for an empty mix.
  [[nodiscard]] double gpu_milli() const;
  [[nodiscard]] std::int64_t exact() const { return sum_; }  // weight() x thousandths

 private:
  const SharePool* pool_;
  const TaskMix* mix_;
  std::vector<std::int64_t> of_node_;
  std::int64_t sum_ = 0;
};

}  // namespace comity::cluster
