// SPDX-License-Identifier: Apache-2.0
// Times of single collectives in ASTRA-sim's congestion-unaware backend. Messages do not meet there, so that a
// collective whose ranks begin together runs in lockstep and one rank stands for all: closed forms, or a short count
// of one rank's messages. Only where ranks begin apart, or a tree makes them different, each is followed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "workload/foreign/astra.h"

namespace comity::workload {

struct AstraCall {
  ChakraCollective type = ChakraCollective::kAllReduce;
  std::uint64_t bytes = 0;
  std::vector<std::int64_t> ranks;  // members, in the order of the ring; of several dimensions innermost first
  std::vector<bool> dimensions;     // taken part in; empty: a communicator group, which is one ring
};

class AstraCollectives {
 public:
  AstraCollectives(const AstraSystem& system, const AstraNetwork& network) : system_(system), network_(network) {}

  // When each member is done, from when each begins. Errors without file: forms that are not modelled.
  [[nodiscard]] Result<std::vector<std::uint64_t>> finish(const AstraCall& call, std::span<const std::uint64_t> starts);
  // True once a call's ranks began apart and it was taken to begin with the last.
  [[nodiscard]] bool approximate() const { return approximate_; }
  // True once several chunks went through more than one dimension and back, see docs/systems/foreign-traces.md.
  [[nodiscard]] bool queue_table() const { return queue_table_; }

 private:
  using Key = std::tuple<AstraAlgorithm, std::int64_t, ChakraCollective, std::size_t, std::uint64_t>;
  struct Phase {
    AstraImplementation implementation;
    ChakraCollective type = ChakraCollective::kAllReduce;
    std::size_t dimension = 0;
    std::uint64_t bytes = 0;
    [[nodiscard]] Key key() const { return {implementation.algorithm, implementation.window, type, dimension, bytes}; }
  };
  struct Chunks {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };

  [[nodiscard]] Result<Chunks> chunks(const AstraCall& call) const;
  [[nodiscard]] Result<std::vector<Phase>> phases(const AstraCall& call, std::uint64_t bytes) const;
  [[nodiscard]] Result<std::vector<AstraImplementation>> implementations(ChakraCollective type) const;
  [[nodiscard]] std::uint64_t hop_ns(const AstraDimension& dimension, std::int64_t distance, std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t reduce_ns(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t delay() const { return static_cast<std::uint64_t>(system_.endpoint_delay_ns); }

  [[nodiscard]] Result<std::uint64_t> phase_ns(const Phase& phase);
  [[nodiscard]] std::uint64_t ring_ns(const Phase& phase) const;
  [[nodiscard]] std::uint64_t direct_ns(const Phase& phase) const;
  [[nodiscard]] Result<std::uint64_t> halving_ns(const Phase& phase) const;
  [[nodiscard]] std::uint64_t queued_ns(const std::vector<Phase>& phases, const std::vector<std::uint64_t>& spans,
                                        std::uint64_t chunks) const;
  [[nodiscard]] Result<std::vector<std::uint64_t>> ring(const AstraCall& call, Chunks chunks, std::uint64_t delay,
                                                        std::span<const std::uint64_t> starts);
  [[nodiscard]] Result<std::vector<std::uint64_t>> tree(const Phase& phase, std::uint64_t chunks,
                                                        std::span<const std::uint64_t> starts);
  // Every member as late as the last.
  [[nodiscard]] std::vector<std::uint64_t> together(std::span<const std::uint64_t> starts, std::uint64_t span);

  const AstraSystem& system_;
  const AstraNetwork& network_;
  std::map<Key, std::uint64_t> known_;
  std::map<std::size_t, std::uint64_t> trees_;  // built so far in a dimension: the two kinds take turns
  bool approximate_ = false;
  bool queue_table_ = false;
};

}  // namespace comity::workload
