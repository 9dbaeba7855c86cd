// SPDX-License-Identifier: Apache-2.0
// Where a request goes in a pool of shared GPUs. A rule gives every node that fits a score, the highest wins; on the
// node a share of a GPU goes to the GPU that the rule says, whole GPUs to the lowest-numbered free ones. Sources: Weng
// et al. (USENIX ATC 2023), sections 4 and 6.1, and the score plug-ins of its artifact
// (hkust-adsl/kubernetes-scheduler-simulator). With c, g what the request asks (CPU, all its GPUs), C, G what the node
// has left (CPU, sum over its GPUs), and C*, G* the largest CPU and GPUs of any node of the cluster:
//
//   fgd         -(F_after(M) - F_before(M)), the fall of the node's expected fragmentation (cluster/fragmentation.h);
//               a share is tried on each GPU that fits and goes to the best
//   bestfit     -( (C - c) / C* + (G - g) / G* ) / 2: what stays behind, weighted evenly
//   dotprod     -( C c / C*^2 + G g / G*^2 ) / 2: the node whose free resources are least like the request's
//   packing     first nodes where GPUs in use suffice (less free on the chosen GPUs is better), then free GPUs of nodes
//               in use (fewer is better), then nodes wholly free (fewer GPUs is better)
//   clustering  first nodes that run requests of the same kind only (share, 1, 2, ... GPUs), then those that run it
//   among
//               others, then idle ones, then the rest; among them the least free GPU
//   random      any node that fits, any GPU that fits
//
// For all but fgd and random a share goes to the GPU with least left that fits. packing and clustering do not tell
// nodes apart for requests without a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "cluster/fragmentation.h"
#include "cluster/share_pool.h"

namespace comity::cluster {

enum class ShareRule { kFgd, kBestFit, kDotProduct, kPacking, kClustering, kRandom };

struct ShareRuleInfo {
  ShareRule rule;
  std::string name;
  std::string summary;
};
// In the order of the paper's figures, the best first.
[[nodiscard]] const std::vector<ShareRuleInfo>& share_rules();
[[nodiscard]] Result<ShareRule> parse_share_rule(const std::string& name);
[[nodiscard]] const std::string& share_rule_name(ShareRule rule);

// kExact compares scores as numbers. kWhole cuts them to whole points of 0 to 100 first, as Kubernetes and so the
// artifact does (fgd by way of 100 / (1 + exp(-fall in GPUs))): many more ties, and with them the lowest node.
enum class ShareScores { kExact, kWhole };
// Nodes of equal score: the first (the artifact, by name), or one at random (Kubernetes as it is).
enum class ShareTies { kRandom, kIndex };

struct SharePlacerOptions {
  ShareRule rule = ShareRule::kFgd;
  ShareScores scores = ShareScores::kWhole;
  ShareTies ties = ShareTies::kIndex;
  std::uint64_t seed = 1;
  std::uint64_t stream = 0;
};

// Chooses for requests of the given shapes, each named by its index. A node's score for a shape is kept until the node
// changes, so that a choice costs O(nodes) loads and only nodes that changed are scored again: O(GPUs) for most rules,
// O(GPUs x GPUs x classes) for fgd. Memory: 16 bytes x shapes x nodes, up to kKeptScores; past it nothing is kept.
// The pool and the mix must outlive the placer.
class SharePlacer {
 public:
  static constexpr std::size_t kKeptScores = 4'000'000;

  SharePlacer(const SharePool& pool, const TaskMix& mix, std::vector<ShareRequest> shapes,
              const SharePlacerOptions& options);

  // Where a request of this shape goes, or false where no node fits. Changes nothing in the pool.
  [[nodiscard]] bool place(std::size_t shape, ShareAllocation& out);
  [[nodiscard]] const std::vector<ShareRequest>& shapes() const { return shapes_; }

 private:
  struct Score {
    double value = 0;           // -infinity: does not fit
    std::uint32_t version = 0;  // of the node when it was scored; 0 = never
    std::uint32_t gpu = 0;      // for a share
  };
  [[nodiscard]] Score score(std::size_t node, const ShareRequest& request) const;
  [[nodiscard]] Score fgd(std::size_t node, const ShareRequest& request) const;
  [[nodiscard]] double bestfit(const Residual& left, const ShareRequest& request) const;
  [[nodiscard]] double dot_product(const Residual& left, const ShareRequest& request) const;
  [[nodiscard]] double packing(const Residual& left, const ShareRequest& request) const;
  [[nodiscard]] double clustering(std::size_t node, const ShareRequest& request) const;
  [[nodiscard]] std::uint32_t random_gpu(const Residual& left, std::uint32_t milli);

  const SharePool& pool_;
  const TaskMix& mix_;
  std::vector<ShareRequest> shapes_;
  SharePlacerOptions options_;
  Rng rng_;
  std::vector<Score> kept_;  // [shape x nodes + node]; empty when too many
  std::vector<std::uint32_t> best_;
};

// The lowest-numbered wholly free GPUs; there must be enough (checked).
[[nodiscard]] std::uint32_t whole_gpus(const Residual& left, std::uint32_t count);
// The GPU with least left among those with at least `milli`, the first of equals; there must be one (checked).
[[nodiscard]] std::uint32_t tightest_gpu(const Residual& left, std::uint32_t milli);

}  // namespace comity::cluster
