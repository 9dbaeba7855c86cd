// SPDX-License-Identifier: Apache-2.0
#include "workload/calculon/layers.h"

namespace comity::workload::calculon {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }

// Elements, before bytes are known.
struct Sizes {
  double in = 0;
  double out = 0;
  double weight = 0;
  double activation = 0;
  double grad = 0;
};

struct Keep {
  bool recompute = false;
  bool recomm = false;
  bool reused = false;
  bool stored = true;
  bool output_stored = true;
};

class Block {
 public:
  Block(const Application& app, const Execution& exe)
      : app_(app),
        exe_(exe),
        bytes_(element_bytes(exe.datatype)),
        peers_(real(exe.tensor_par)),
        split_(exe.tensor_par_comm_type == TensorParComm::kRsAg),
        full_(exe.activation_recompute == ActivationRecompute::kFull),
        tokens_(real(exe.microbatch_size * app.seq_size)),
        whole_(tokens_ * real(app.hidden)),
        outer_(split_ ? real(exe.microbatch_size * app.seq_size / exe.tensor_par) * real(app.hidden) : whole_) {
    layers_.reserve(19);
  }

  std::vector<Layer> build() {
    attention();
    feed_forward();
    return std::move(layers_);
  }

 private:
  Layer& add(const Sizes& s, const std::array<double, 3>& flops, const Keep& keep) {
    Layer l;
    const double shards = exe_.optimizer_sharding ? real(exe_.data_par) : 1;
    l.flops = {flops[0], flops[1], flops[2], s.weight / shards * 11};
    l.weight = s.weight * bytes_;
    l.activation = s.activation * bytes_;
    l.output = s.out * bytes_;
    l.weight_grad = s.weight * bytes_ / shards;
    l.weight_grad_whole = s.weight * 4;
    l.activation_grad = s.grad * bytes_;
    l.optimizer = (2 * s.weight * 4 + (bytes_ < 4 ? s.weight * 4 : 0)) / shards;
    l.mem[0] = (s.in + s.out + s.weight) * bytes_;
    l.mem[1] = (s.weight + s.activation + s.grad) * bytes_;
    l.mem[2] = s.weight == 0 ? 0 : (s.weight + s.activation + s.grad) * bytes_;
    l.mem[3] = l.optimizer;
    l.recompute = keep.recompute;
    l.recomm = keep.recomm;
    l.reuses_activation = keep.reused;
    l.stores_activation = keep.stored;
    l.stores_output = keep.output_stored;
    layers_.push_back(l);
    return layers_.back();
  }

  void fork(double size, double users, const Keep& keep) {
    Layer& l = add({size, 0, 0, size, 0}, {0, users * size, 0}, keep);
    l.mem[0] = 0;
    l.mem[1] = size * bytes_ * (users + 1);
  }
  void norm(double size) {
    add({size, size, 2 * real(app_.hidden), size, size}, {9 * size, 14 * size, 7 * size},
        {.recompute = full_, .reused = true, .stored = false});
  }
  void linear(double in, double out, const Keep& keep) {
    const double work = 2 * tokens_ * in * out;
    add({tokens_ * in, tokens_ * out, in * out, tokens_ * in, tokens_ * out}, {work, work, work}, keep).matrix = true;
  }
  void batch_matmul(double batch, double m, double n, double k, const Keep& keep) {
    const double in = batch * (m * n + n * k);
    const double work = batch * 2 * m * n * k;
    add({in, batch * m * k, 0, in, batch * m * k}, {work, 2 * work, 0}, keep).matrix = true;
  }
  void dropout(double size, const Keep& keep) {
    Layer& l = add({size, size, 0, size, size}, {size, size, 0}, keep);
    l.activation = size;  // the mask, a byte an element
    l.activation_grad = size;
    l.mem[0] = 2 * size * bytes_ + size;
    l.mem[1] = l.mem[0];
  }
  void residual(double size) {
    add({2 * size, size, 0, 2 * size, size}, {size, 2 * size, 0},
        {.recompute = full_, .reused = true, .stored = false});
  }

  // A tensor-parallel boundary: gathers or copies going forward, reduces going backward; conjugate the other way.
  void boundary(bool conjugate, const Keep& keep) {
    const double size = peers_ == 1 ? 0 : whole_;
    const double reduce = peers_ == 1 ? 0 : whole_ * (peers_ - 1) / peers_;
    Layer& l = add({size, size, 0, size, size}, {conjugate ? reduce : 0, conjugate ? 0 : reduce, 0}, keep);
    l.comm = LayerComm::kBoundary;
    l.conjugate = conjugate;
    l.comm_bytes = whole_ * bytes_;
    const double kept = size * bytes_;
    l.activation = split_ ? kept / peers_ : conjugate ? kept : 0;
    l.activation_grad = split_ ? kept / peers_ : conjugate ? 0 : kept;
    if (!split_ && !conjugate) l.mem[0] = 0;
    if (!split_ && conjugate) l.mem[1] = 0;
  }
  // The same, running tile by tile beside the product it belongs to.
  void overlapped(double in, double out, bool conjugate, const Keep& keep) {
    const double tiles = peers_;
    const double k = conjugate ? out : out / peers_;
    const double n = conjugate ? in / peers_ : in;
    const double input = tokens_ * n;
    const double output = tokens_ * k;
    Sizes s{input, output, n * k, 0, 0};
    if (split_) {
      s.activation = conjugate ? input : static_cast<double>(static_cast<std::int64_t>(input / tiles));
      const auto tile = static_cast<double>(static_cast<std::int64_t>(output / tiles));
      s.grad = conjugate ? 2 * tile : output;
    } else {
      s.activation = conjugate ? 0 : input;
      s.grad = conjugate ? 2 * output : 0;
    }
    const double work = 2 * tokens_ * n * k;
    Layer& l = add(s, {work, work, work}, keep);
    l.matrix = true;
    l.comm = LayerComm::kOverlapped;
    l.conjugate = conjugate;
    l.comm_bytes = (conjugate ? output : input) * bytes_;
  }

  void attention() {
    const bool core = exe_.activation_recompute != ActivationRecompute::kNone;
    const bool gather = core || exe_.seq_par_ag_redo;
    const double hidden = real(app_.hidden);
    const double width = real(app_.attn_heads * app_.attn_size);
    fork(outer_, 2, {.recompute = full_});
    norm(outer_);
    if (exe_.tensor_par_overlap == TensorParOverlap::kNone) {
      boundary(false, {.recomm = gather});
      fork(whole_, 3, {.recompute = gather, .stored = !gather});
      const Keep keep{.recompute = full_, .reused = true, .stored = false};
      const double share = real(app_.attn_heads * app_.attn_size / exe_.tensor_par);
      linear(hidden, share, keep);
      const double kv = exe_.multiquery ? real(app_.attn_size) : share;
      linear(hidden, kv, keep);
      linear(hidden, kv, keep);
    } else if (!exe_.multiquery) {
      overlapped(hidden, 3 * width, false, {.recompute = full_, .recomm = gather});
    } else {
      overlapped(hidden, width, false, {.recompute = full_, .recomm = gather});
      fork(whole_, 2, {.recompute = gather, .stored = !gather});
      const Keep keep{.recompute = full_, .reused = true, .stored = false};
      linear(hidden, real(app_.attn_size), keep);
      linear(hidden, real(app_.attn_size), keep);
    }
    scores(core);
    if (exe_.tensor_par_overlap == TensorParOverlap::kNone) {
      linear(real(app_.attn_heads * app_.attn_size / exe_.tensor_par), hidden, {.recompute = full_});
      boundary(true, {.recomm = full_, .stored = false});
    } else {
      overlapped(width, hidden, true, {.recompute = full_, .recomm = full_});
    }
    dropout(outer_, {.recompute = full_});
    residual(outer_);
  }
  void scores(bool core) {
    const double batch = real(exe_.microbatch_size * app_.attn_heads / exe_.tensor_par);
    const double s = real(app_.seq_size);
    const double d = real(app_.attn_size);
    const double elements = real(app_.attn_heads / exe_.tensor_par) * s * s * real(exe_.microbatch_size);
    batch_matmul(batch, s, d, s, {.recompute = core, .output_stored = !core});
    Layer& softmax = add({elements, elements, 0, elements, elements}, {5 * elements, 8 * elements, 0},
                         {.recompute = core, .output_stored = !core});
    softmax.mem[1] = softmax.mem[0];
    dropout(elements, {.recompute = core, .stored = !core});
    batch_matmul(batch, s, s, d, {.recompute = full_});
  }
  void feed_forward() {
    const bool gather = full_ || exe_.seq_par_ag_redo;
    const double hidden = real(app_.hidden);
    const double wide = real(app_.feedforward);
    const bool apart = exe_.tensor_par_overlap == TensorParOverlap::kNone;
    fork(outer_, 2, {.recompute = full_});
    norm(outer_);
    if (apart) {
      boundary(false, {.recomm = gather});
      linear(hidden, real(app_.feedforward / exe_.tensor_par), {.recompute = full_, .stored = !gather});
    } else {
      overlapped(hidden, wide, false, {.recompute = full_, .recomm = gather});
    }
    gelu();
    if (apart) {
      linear(real(app_.feedforward / exe_.tensor_par), hidden, {.recompute = full_});
      boundary(true, {.recomm = full_, .stored = false});
    } else {
      overlapped(wide, hidden, true, {.recompute = full_, .recomm = full_});
    }
    dropout(outer_, {.recompute = full_});
    residual(outer_);
  }
  void gelu() {
    const auto size = static_cast<double>(app_.feedforward * exe_.microbatch_size * app_.seq_size / exe_.tensor_par);
    const double kept = exe_.fused_activation ? 0 : size;
    Layer& l = add({size, size, 0, kept, kept}, {8 * size, 13 * size, 0}, {.recompute = full_});
    l.mem[1] = l.mem[0];
  }

  const Application& app_;
  const Execution& exe_;
  double bytes_;
  double peers_;
  bool split_;
  bool full_;
  double tokens_;
  double whole_;  // elements of a micro-batch's activation
  double outer_;  // of it on one rank between the boundaries
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Layer> block_layers(const Application& app, const Execution& exe) { return Block(app, exe).build(); }

}  // namespace comity::workload::calculon
