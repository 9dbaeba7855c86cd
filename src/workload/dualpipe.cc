// SPDX-License-Identifier: Apache-2.0
#include "workload/dualpipe.h"

#include <algorithm>
#include <array>

namespace comity::workload {
namespace {

// Micro-batches of the first half of the numbers go from rank 0 to rank p - 1, the others the other way. A rank calls
// "near" those that enter at its own end of the pipeline: they reach it first. Both ends do the same, mirrored.
enum Side : std::uint8_t { kNear, kFar };

class DualPipe {
 public:
  DualPipe(const PipelineShape& shape, std::int64_t rank)
      : half_(shape.microbatches / 2), depth_(std::min(rank, shape.ranks - 1 - rank)), p_(shape.ranks) {
    const bool up = rank >= p_ / 2;
    stage_ = {up ? p_ - 1 - rank : rank, up ? rank : p_ - 1 - rank};
    first_ = {up ? half_ : 0, up ? 0 : half_};
    order_.reserve(3 * shape.microbatches);
  }

  // In the words of the paper's figure 5: fill, then pairs, then drain with what is left of the weight parts.
  std::vector<Op> build() {
    const std::int64_t inner = p_ / 2 - 1 - depth_;  // ranks between this one and the middle
    const std::int64_t outer = depth_ + 1;           // ranks between the end and this one, with it
    fill(inner, outer);
    const std::int64_t rounds = half_ - p_ + outer;
    for (std::int64_t i = 0; i < rounds; ++i) {
      if (i == 0 && inner == 0) {  // in the middle the first pair would wait for its own B
        forward(kNear);
        backward(kFar);
      } else {
        pair(kNear, kFar);
      }
      pair(kFar, kNear);
    }
    drain(inner, outer);
    return std::move(order_);
  }

 private:
  void fill(std::int64_t inner, std::int64_t outer) {
    for (std::int64_t i = 0; i < 2 * inner; ++i) forward(kNear);
    for (std::int64_t i = 0; i < outer; ++i) {
      forward(kNear);
      forward(kFar);
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      input(kFar);
      weight();
      forward(kFar);
    }
  }

  // The later half of the backward passes leaves its weight parts behind, for the gaps at the end.
  void drain(std::int64_t inner, std::int64_t outer) {
    for (std::int64_t i = 0; i < inner; ++i) {
      backward(kFar);
      pair(kFar, kNear);
    }
    for (std::int64_t i = 0; i < 2 * outer; ++i) {
      const Side side = i % 2 == 0 ? kFar : kNear;
      if (i < outer) {
        backward(side);
      } else {
        input(side);
      }
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      weight();
      input(kNear);
    }
    for (std::int64_t i = 0; i < outer; ++i) weight();
  }

  void add(OpKind kind, Side side, std::int64_t nth) {
    order_.push_back(Op{.kind = kind,
                        .overlapped = false,
                        .stage = static_cast<std::int32_t>(stage_[side]),
                        .microbatch = static_cast<std::int32_t>(first_[side] + nth)});
  }
  void forward(Side side) { add(OpKind::kForward, side, forwards_[side]++); }
  void backward(Side side) { add(OpKind::kBackward, side, backwards_[side]++); }
  void input(Side side) {
    add(OpKind::kInput, side, backwards_[side]++);
    late_.push_back(order_.back());
  }
  void weight() {
    order_.push_back(late_[weights_++]);
    order_.back().kind = OpKind::kWeight;
  }
  void pair(Side forwards, Side backwards) {
    forward(forwards);
    order_.back().overlapped = true;
    backward(backwards);
  }

  std::int64_t half_;   // micro-batches of a direction
  std::int64_t depth_;  // ranks between this one and the nearer end
  std::int64_t p_;
  std::array<std::int64_t, 2> stage_{};
  std::array<std::int64_t, 2> first_{};
  std::array<std::int64_t, 2> forwards_{};
  std::array<std::int64_t, 2> backwards_{};
  std::vector<Op> late_;
  std::size_t weights_ = 0;
  std::vector<Op> order_;
};

}  // namespace

std::vector<Op> dualpipe_order(const PipelineShape& shape, std::int64_t rank) { return DualPipe(shape, rank).build(); }

}  // namespace comity::workload
