// SPDX-License-Identifier: Apache-2.0
// SimAI-Analytical's arithmetic. It computes bandwidths in float, times in double and cuts every time to whole
// nanoseconds: so does this file, since the last digit of its tables depends on it.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "workload/foreign/refusal.h"
#include "workload/foreign/simai.h"

namespace comity::workload {

namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

enum class Group : std::uint8_t { kNone, kTp, kDp, kEp, kDpEp };

struct Bus {
  float gb_s = 0;
  bool nvlink = false;
};

struct Degrees {
  std::int64_t tp = 1;
  std::int64_t ep = 1;
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t ga = 1;
  std::int64_t dp = 1;
};

// Of a ring over `nodes` nodes with `gpus` GPUs each in the group and `nics` NICs for them.
Bus ring_bus(const SimaiMachine& machine, std::int64_t nodes, std::int64_t gpus, std::int64_t nics, bool all_to_all) {
  const auto nvlink = static_cast<float>(machine.nvlink_gb_s);
  const float network = static_cast<float>(machine.nic_gb_s) * static_cast<float>(nics);
  if (nodes == 1) return {nvlink, all_to_all};
  if (all_to_all) {
    const auto ranks = static_cast<float>(nodes * gpus);
    return {network / static_cast<float>(gpus) * (ranks - 1) / static_cast<float>((nodes - 1) * gpus), false};
  }
  if (gpus == 1) return {network, false};
  // Where the NICs of a node carry more than NVLink, a ring may leave a node over another rail than it came in.
  const float inside = network > nvlink ? nvlink * static_cast<float>(gpus) / static_cast<float>(gpus - 1) : nvlink;
  return inside < network ? Bus{inside, true} : Bus{network, false};
}

class Model {
 public:
  Model(const SimaiMachine& machine, Degrees degrees) : machine_(machine), d_(degrees) {}

  // Nanoseconds of one operation, or why there are none.
  Result<std::uint64_t> time_ns(SimaiOperation operation, Group group, std::int64_t ranks, std::int64_t bytes) const {
    if (operation == SimaiOperation::kNone || operation == SimaiOperation::kBroadcast) return 0;
    if (bytes > 1 && bytes < 1048576) return small_ns(ranks);
    if (group == Group::kNone || ranks <= 1) return 0;
    const bool all_to_all = operation == SimaiOperation::kAllToAll;
    const Shape shape = this->shape(group, ranks);
    if (shape.nics < 1 && shape.nodes > 1)
      return fail(Code::kInput,
                  fmt::format("{} NICs a node leave none for each of the {} GPUs that a group has elsewhere",
                              machine_.nics_per_node, machine_.gpus_per_node),
                  "SimAI divides the NICs of a node by the tensor parallel degree: give at least as many");
    const Bus bus = ring_bus(machine_, shape.nodes, shape.gpus, shape.nics, all_to_all);
    const auto ratio = this->ratio(operation, group, ranks, static_cast<double>(bytes), bus.nvlink);
    if (!ratio)
      return fail(Code::kInput, fmt::format("{} B are over the 16 GiB at which the table of ratios ends", bytes),
                  "SimAI-Analytical stops here, too: split the message");
    const double whole = static_cast<double>(bytes) / kGib / static_cast<double>(*ratio * bus.gb_s) * 1e9;
    const double twice = operation == SimaiOperation::kAllReduce ? whole * 2 : whole;
    const double ns = twice * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    if (!(ns < 1e18)) return fail(Code::kInput, fmt::format("{} B take over 10^18 ns", bytes));
    return static_cast<std::uint64_t>(ns);
  }

 private:
  struct Shape {
    std::int64_t nodes = 1;
    std::int64_t gpus = 1;  // of a node, in the group
    std::int64_t nics = 1;  // of a node, for them
  };

  static std::uint64_t small_ns(std::int64_t ranks) {
    switch (ranks) {
      case 2: return 10'000;
      case 4: return 12'000;
      case 8: return 15'000;
      case 16: return 66'000;
      case 32: return 135'000;
      case 64: return 200'000;
      case 128: return 320'000;
      default: return 0;
    }
  }

  [[nodiscard]] Shape shape(Group group, std::int64_t ranks) const {
    const std::int64_t gpus = machine_.gpus_per_node;
    const std::int64_t nics = machine_.nics_per_node;
    const std::int64_t tp = d_.tp;
    if (group == Group::kTp) return tp <= gpus ? Shape{1, tp, nics} : Shape{tp / gpus, gpus, nics};
    if (group == Group::kEp) {
      if (tp * ranks <= gpus) return {1, gpus / tp, nics};
      return {tp * ranks / gpus, std::max<std::int64_t>(gpus / tp, 1), tp > gpus ? nics / gpus : nics / tp};
    }
    // SimAI counts every rank of a data parallel group as a node of its own.
    const std::int64_t inner = group == Group::kDpEp ? tp * d_.ep : tp;
    return inner <= gpus ? Shape{ranks, gpus / inner, nics / inner} : Shape{ranks, 1, nics / gpus};
  }

  [[nodiscard]] std::optional<float> ratio(SimaiOperation operation, Group group, std::int64_t ranks, double bytes,
                                           bool nvlink) const {
    const std::int64_t gpus = machine_.gpus_per_node;
    const std::int64_t tp = d_.tp;
    const bool halves = operation == SimaiOperation::kAllGather || operation == SimaiOperation::kReduceScatter;
    if (halves && group == Group::kTp)
      return simai_ratio(nvlink ? SimaiRatio::kNvlink : SimaiRatio::kNic, bytes, tp < gpus ? 1 : tp / gpus);
    if (operation != SimaiOperation::kAllToAll) return 1.0F;
    if (group == Group::kTp) return simai_ratio(SimaiRatio::kAllToAll, bytes, tp <= gpus ? 1 : tp / gpus);
    if (group != Group::kEp) return 1.0F;
    if (tp * ranks <= gpus) return simai_ratio(SimaiRatio::kAllToAll, bytes, 1);
    return simai_ratio(SimaiRatio::kAllToAll, bytes, tp >= gpus ? 9 : tp * ranks / gpus);
  }

  const SimaiMachine& machine_;
  Degrees d_;
};

Group group_of(const SimaiPass& pass, bool weight) {
  if (pass.operation == SimaiOperation::kNone || pass.operation == SimaiOperation::kBroadcast ||
      pass.operation == SimaiOperation::kAllReduceAllToAll)
    return Group::kNone;
  if (pass.suffix == SimaiSuffix::kEp) return Group::kEp;
  if (pass.suffix == SimaiSuffix::kDpEp) return Group::kDpEp;
  return weight ? Group::kDp : Group::kTp;
}

void bandwidths(SimaiTransfer& out, const SimaiPass& pass, std::int64_t ranks, std::uint64_t ns) {
  const double us = static_cast<double>(ns) / 1000.0;
  out.total_us = us;
  const auto algorithm = static_cast<float>(static_cast<double>(pass.bytes) / us * 1000000 / kGib);
  out.algorithm_gb_s = static_cast<double>(algorithm);
  const auto n = static_cast<float>(ranks);
  switch (pass.operation) {
    case SimaiOperation::kAllReduce:
    case SimaiOperation::kAllReduceAllToAll:
      out.bus_gb_s = static_cast<float>(static_cast<double>(algorithm * 2 * (n - 1)) / static_cast<double>(ranks));
      break;
    case SimaiOperation::kAllGather:
    case SimaiOperation::kReduceScatter:
    case SimaiOperation::kAllToAll:
      out.bus_gb_s = static_cast<float>(static_cast<double>(algorithm * (n - 1)) / static_cast<double>(ranks));
      break;
    default: out.bus_gb_s = 0;
  }
}

// What an overlap leaves, in whole nanoseconds.
std::uint64_t left(std::uint64_t ns, double overlap) {
  return static_cast<std::uint64_t>(static_cast<float>(ns) * (1 - static_cast<float>(overlap)));
}

class Sum {
 public:
  Sum(const Model& model, const SimaiMachine& machine, const Degrees& degrees)
      : model_(model), machine_(machine), d_(degrees) {}

  // `least`: what SimAI raises smaller messages of the forward pass to.
  Status add(SimaiLayer layer, std::int64_t least) {
    if (layer.forward.bytes > 0) layer.forward.bytes = std::max(layer.forward.bytes, least);
    const Group fg = group_of(layer.forward, false);
    const Group ig = group_of(layer.input_grad, false);
    const Group wg = group_of(layer.weight_grad, true);
    const std::int64_t fr = fg == Group::kEp ? d_.ep : d_.tp;
    const std::int64_t ir = ig == Group::kEp ? d_.ep : d_.tp;
    const std::int64_t wr = wg == Group::kDpEp ? d_.dp / d_.ep : d_.dp;
    const auto f = model_.time_ns(layer.forward.operation, fg, fr, layer.forward.bytes);
    if (!f) return fail(f.error());
    const auto i = model_.time_ns(layer.input_grad.operation, ig, ir, layer.input_grad.bytes);
    if (!i) return fail(i.error());
    const auto w = model_.time_ns(layer.weight_grad.operation, wg, wr, layer.weight_grad.bytes);
    if (!w) return fail(w.error());

    SimaiLayerCost cost;
    cost.name = layer.name;
    cost.forward_us = static_cast<double>(layer.forward.compute_ns) / 1000.0;
    cost.input_grad_us = static_cast<double>(layer.input_grad.compute_ns) / 1000.0;
    cost.weight_grad_us = static_cast<double>(layer.weight_grad.compute_ns) / 1000.0;
    bandwidths(cost.forward, layer.forward, fr, *f);
    bandwidths(cost.input_grad, layer.input_grad, ir, *i);
    bandwidths(cost.weight_grad, layer.weight_grad, wr, *w);
    if (layer.name != "embedding_layer")
      bubble_us +=
          static_cast<double>(*f + *i +
                              static_cast<std::uint64_t>(layer.forward.compute_ns + layer.weight_grad.compute_ns +
                                                         layer.input_grad.compute_ns)) /
          1000.0;
    expose(cost, fg, wg, {*f, *i, *w});
    estimate.layers.push_back(std::move(cost));
    return {};
  }

  SimaiEstimate estimate;
  double bubble_us = 0;  // before the share that the pipeline leaves idle

 private:
  void expose(SimaiLayerCost& cost, Group fg, Group wg, const std::array<std::uint64_t, 3>& ns) {
    // SimAI takes the input gradient's group for the forward's.
    const double overlap = fg == Group::kEp ? machine_.ep_overlap : machine_.tp_overlap;
    const std::uint64_t f = exposed(ns[0], overlap);
    const std::uint64_t i = exposed(ns[1], overlap);
    const std::uint64_t w = exposed(ns[2], machine_.dp_overlap);
    cost.forward.exposed_us = static_cast<double>(f) / 1000.0;
    cost.input_grad.exposed_us = static_cast<double>(i) / 1000.0;
    cost.weight_grad.exposed_us = static_cast<double>(w) / 1000.0;
    (wg == Group::kDpEp ? estimate.dp_ep_us : estimate.dp_us) += cost.weight_grad.exposed_us;
    (fg == Group::kEp ? estimate.ep_us : estimate.tp_us) += static_cast<double>(f + i) / 1000.0;
    estimate.compute_us += cost.forward_us;
    estimate.compute_us += cost.weight_grad_us;
    estimate.compute_us += cost.input_grad_us;
    estimate.exposed_us += cost.forward.exposed_us;
    estimate.exposed_us += cost.weight_grad.exposed_us;
    estimate.exposed_us += cost.input_grad.exposed_us;
  }

  static std::uint64_t exposed(std::uint64_t ns, double overlap) { return overlap == 0 ? ns : left(ns, overlap); }

  const Model& model_;
  const SimaiMachine& machine_;
  Degrees d_;
};

Status check(const SimaiMachine& m) {
  const auto positive = [](double v) { return v >= 1e-3 && v <= 1e6; };
  const auto share = [](double v) { return v >= 0 && v <= 1; };
  if (m.gpus < 1 || m.gpus > 100'000'000)
    return fail(Code::kUsage, "the number of GPUs is 1 to 100,000,000", "--gpus N");
  if (!positive(m.nvlink_gb_s)) return fail(Code::kUsage, "NVLink has no bandwidth", "--nvlink-gb-s GB/s, 360 say");
  if (!positive(m.nic_gb_s)) return fail(Code::kUsage, "a NIC has no bandwidth", "--nic-gb-s GB/s, 48.5 say");
  if (m.gpus_per_node < 1 || m.gpus_per_node > 100'000 || m.nics_per_node < 1 || m.nics_per_node > 100'000)
    return fail(Code::kUsage, "a node has 1 to 100,000 GPUs and NICs", "--gpus-per-node, --nics-per-node");
  if (!share(m.dp_overlap) || !share(m.ep_overlap) || !share(m.tp_overlap) || !share(m.pp_overlap))
    return fail(Code::kUsage, "an overlap is a share between 0 and 1");
  return {};
}

Result<Degrees> degrees(const SimaiWorkload& w, const SimaiMachine& machine, std::vector<std::string>& notes) {
  std::string missing;
  const auto or_one = [&](const char* key, const std::optional<std::int64_t>& value) {
    if (!value) missing += missing.empty() ? key : std::string(", ") + key;
    return value.value_or(1);
  };
  Degrees d;
  d.tp = or_one("model_parallel_NPU_group", w.tp);
  d.ep = or_one("ep", w.ep);
  d.pp = or_one("pp", w.pp);
  d.vpp = or_one("vpp", w.vpp);
  d.ga = or_one("ga", w.ga);
  if (!missing.empty()) notes.push_back(fmt::format("the header does not say {}: 1 is taken", missing));
  if (w.all_gpus && *w.all_gpus != machine.gpus)
    notes.push_back(fmt::format("the workload is for {} GPUs, {} are asked for", *w.all_gpus, machine.gpus));
  if (d.tp > machine.gpus || d.pp > machine.gpus / d.tp)
    return fail(Code::kInput,
                fmt::format("{} GPUs hold no tensor x pipeline group of {} x {}", machine.gpus, d.tp, d.pp),
                "give at least model_parallel_NPU_group x pp GPUs");
  d.dp = machine.gpus / (d.tp * d.pp);
  if (machine.gpus % (d.tp * d.pp) != 0)
    notes.push_back(fmt::format("{} GPUs are {} groups of {} and a rest", machine.gpus, d.dp, d.tp * d.pp));
  return d;
}

// SimAI divides the bytes by the overlap instead of a bandwidth, and prints 0 where there is none.
double pipeline_us(const SimaiWorkload& w, const Degrees& d, double overlap, std::vector<std::string>& notes) {
  const std::int64_t bytes = w.pp_comm.value_or(0);
  if (bytes == 0) return 0;
  if (overlap == 0) {
    notes.push_back("stage-to-stage transfers count 0 us, as SimAI-Analytical prints without an overlap");
    return 0;
  }
  const auto share = static_cast<double>(static_cast<float>(overlap));
  const double us =
      2.0 * static_cast<double>(d.vpp * d.ga) * (static_cast<double>(bytes) / kGib / share * 1e9) / 1000.0;
  return static_cast<double>(left(static_cast<std::uint64_t>(std::min(us, 1e18)), overlap));
}

}  // namespace

Result<SimaiEstimate> simai_estimate(const SimaiWorkload& workload, const SimaiMachine& machine,
                                     const std::string& file) {
  if (auto ok = check(machine); !ok) return fail(ok.error());
  std::vector<std::string> notes = workload.notes;
  const auto named = [&](Error error) {
    error.file = file;
    return fail(std::move(error));
  };
  const auto d = degrees(workload, machine, notes);
  if (!d) return named(d.error());
  const Model model(machine, *d);
  Sum sum(model, machine, *d);
  const std::int64_t least = workload.parallelism == "HYBRID_TRANSFORMER_FWD_IN_BCKWD" ? 4096 : 0;
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    if (auto added = sum.add(workload.layers[i], least); !added) {
      Error error = added.error();
      error.message = fmt::format("layer {} (\"{}\"): {}", i + 1, printable(workload.layers[i].name), error.message);
      return named(std::move(error));
    }
  }
  SimaiEstimate e = std::move(sum.estimate);
  e.pp_us = pipeline_us(workload, *d, machine.pp_overlap, notes);
  e.bubble_us = sum.bubble_us * (static_cast<double>(d->pp - 1) / static_cast<double>(d->ga * d->vpp));
  e.total_us = e.compute_us + e.exposed_us + e.bubble_us + e.pp_us;
  if (!(e.total_us > 0))
    return refuse({.file = file, .line = 0, .field = {}},
                  "the workload takes no time: no layer computes or communicates",
                  "compute times are nanoseconds, sizes bytes");
  e.notes = std::move(notes);
  return e;
}

std::string simai_csv(const SimaiEstimate& e, std::string_view prefix) {
  const auto part = [&](double us) { return fmt::format("{:.0f} ({:.2f}%)", us, us / e.total_us * 100); };
  std::string out =
      "File name, Expose DP comm, Expose DP_EP comm, Expose TP comm, Expose_EP_comm, Expose_PP_comm, bubble time, "
      "total comp, total exposed comm, Total time\n";
  out += fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, {:.0f}\n", prefix, part(e.dp_us), part(e.dp_ep_us),
                     part(e.tp_us), part(e.ep_us), part(e.pp_us), part(e.bubble_us), part(e.compute_us),
                     part(e.exposed_us), e.total_us);
  out +=
      "layer_name,Analytical_test,fwd compute,wg compute,ig compute,fwd exposed comm,wg exposed comm,ig exposed comm,"
      "fwd total comm,algbw,busbw,wg total comm,algbw,busbw,ig total comm,algbw,busbw\n";
  // 0/0 has its sign bit set on the machines SimAI runs on.
  const auto rate = [](double v) { return std::isnan(v) ? std::string("-nan") : fmt::format("{:.2f}", v); };
  const auto transfer = [&](const SimaiTransfer& t) {
    return fmt::format("{:.0f},{},{}", t.total_us, rate(t.algorithm_gb_s), rate(t.bus_gb_s));
  };
  for (const SimaiLayerCost& l : e.layers)
    out += fmt::format("{},Analytical_test,{:.0f},{:.0f},{:.0f},{:.0f},{:.0f},{:.0f},{},{},{}\n", l.name, l.forward_us,
                       l.weight_grad_us, l.input_grad_us, l.forward.exposed_us, l.weight_grad.exposed_us,
                       l.input_grad.exposed_us, transfer(l.forward), transfer(l.weight_grad), transfer(l.input_grad));
  return out;
}

}  // namespace comity::workload
