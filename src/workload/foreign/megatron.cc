// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/megatron.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "workload/foreign/megatron_words.h"

namespace comity::workload {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 20;  // of degrees and widths: products of three stay below 2^63
constexpr std::int64_t kLong = std::int64_t{1} << 30;  // of tokens, words and batches

class Reader {
 public:
  Reader(MegatronOptions options, const std::string& file) : options_(std::move(options)), file_(file) {}

  Result<MegatronRun> run(std::int64_t gpus) {
    model();
    experts();
    parallelism(gpus);
    memory();
    if (!status_) return fail(status_.error());
    for (const auto& [name, value] : options_)
      if (std::find(used_.begin(), used_.end(), name) == used_.end()) run_.ignored.push_back("--" + name);
    return std::move(run_);
  }

 private:
  std::int64_t number(std::string_view name, std::int64_t fallback, bool required = false, std::int64_t most = kMost) {
    used_.emplace_back(name);
    const auto found = options_.find(name);
    if (found == options_.end()) {
      if (required) refuse(name, "is missing");
      return fallback;
    }
    const auto value = parse_int(found->second);
    if (value && *value >= 0 && *value <= most) return *value;
    refuse(name, fmt::format("'{}' is no whole number from 0 to {}", printable(found->second, 40), most));
    return fallback;
  }
  double real(std::string_view name, double fallback) {
    used_.emplace_back(name);
    const auto found = options_.find(name);
    if (found == options_.end()) return fallback;
    const auto value = parse_double(found->second);
    if (value && *value >= 0 && *value <= 1e6) return *value;
    refuse(name, fmt::format("'{}' is no number from 0 to 10^6", printable(found->second, 40)));
    return fallback;
  }
  bool flag(std::string_view name) {
    used_.emplace_back(name);
    return options_.find(name) != options_.end();
  }
  std::string text(std::string_view name) {
    used_.emplace_back(name);
    const auto found = options_.find(name);
    return found == options_.end() ? std::string() : found->second;
  }
  void refuse(std::string_view name, std::string message) {
    if (!status_) return;
    status_ = fail(Error{Code::kInput, std::move(message), file_, 0, "--" + std::string(name), {}, {}});
  }

  void model() {
    Model& m = run_.model;
    m.name = "megatron";
    m.source = file_;
    m.layers = number("num-layers", 0, true);
    m.hidden = number("hidden-size", 0, true);
    m.heads = number("num-attention-heads", 0, true);
    m.sequence = number("seq-length", 0, true, kLong);
    m.kv_heads = flag("group-query-attention") ? number("num-query-groups", 1) : m.heads;
    m.head_width = number("kv-channels", m.heads > 0 ? m.hidden / m.heads : 0);
    m.gated = flag("swiglu");
    m.ffn = number("ffn-hidden-size", m.gated ? (m.hidden * 8 / 3 + 63) / 64 * 64 : 4 * m.hidden);
    m.vocab = number("vocab-size", number("padded-vocab-size", 50304, false, kLong), false, kLong);
    m.rms_norm = text("normalization") == "RMSNorm";
    m.bias = !flag("disable-bias-linear");
    m.qkv_bias = flag("add-qkv-bias");
    m.tied_embeddings = !flag("untie-embeddings-and-output-weights");
    const bool rotary = text("position-embedding-type") == "rope" || flag("use-rotary-position-embeddings") ||
                        text("position-embedding-type") == "none";
    const std::int64_t positions = number("max-position-embeddings", m.sequence, false, kLong);
    m.positions = rotary ? 0 : positions;
    if (flag("multi-latent-attention")) {
      m.latent.q_rank = number("q-lora-rank", 0);
      m.latent.kv_rank = number("kv-lora-rank", 32);
      m.latent.nope = number("qk-head-dim", 128);
      m.latent.rope = number("qk-pos-emb-head-dim", 64);
      m.latent.value = number("v-head-dim", 128);
    }
    m.mtp_layers = number("mtp-num-layers", 0);
  }
  // ([0]*D+[1]*M): D dense layers, then M of experts, all of them; -1: something else.
  [[nodiscard]] std::int64_t dense_before(std::string text) const {
    std::erase(text, ' ');
    for (const auto& [head, middle] : {std::pair("([0]*", "+[1]*"), std::pair("[0]*", "+[1]*")}) {
      const std::size_t cut = text.find(middle);
      if (!text.starts_with(head) || cut == std::string::npos) continue;
      const std::string_view all = text;
      std::string_view last = all.substr(cut + std::string_view(middle).size());
      if (last.ends_with(')')) last.remove_suffix(1);
      const auto dense = parse_int(all.substr(std::string_view(head).size(), cut - std::string_view(head).size()));
      const auto moe = parse_int(last);
      if (dense && moe && *dense >= 0 && *moe >= 0 && *dense + *moe == run_.model.layers) return *dense;
    }
    return -1;
  }
  void experts() {
    Moe& moe = run_.model.moe;
    moe.experts = number("num-experts", 0);
    if (moe.experts == 0) return;
    moe.top_k = number("moe-router-topk", 2);
    moe.ffn = number("moe-ffn-hidden-size", run_.model.ffn);
    moe.shared_ffn = number("moe-shared-expert-intermediate-size", 0);
    moe.shared_experts = moe.shared_ffn > 0 ? 1 : 0;
    const std::string frequency = text("moe-layer-freq");
    if (frequency.empty()) {
    } else if (const auto every = parse_int(frequency); every && *every > 0) {
      moe.every = *every;
    } else if (const std::int64_t dense = dense_before(frequency); dense >= 0) {
      moe.dense_layers = dense;
    } else {
      refuse("moe-layer-freq",
             fmt::format("'{}' is neither a number nor like ([0]*1+[1]*27)", printable(frequency, 40)));
    }
    run_.execution.expert_capacity = real("moe-expert-capacity-factor", 0);
  }
  void parallelism(std::int64_t gpus) {
    Execution& e = run_.execution;
    e.tp = number("tensor-model-parallel-size", 1);
    e.pp = number("pipeline-model-parallel-size", 1);
    e.cp = number("context-parallel-size", 1);
    e.ep = number("expert-model-parallel-size", 1);
    e.microbatch = number("micro-batch-size", 0, true);
    const std::int64_t nodes = number("nnodes", 1);
    const std::int64_t local = number("nproc-per-node", 0);
    if (gpus <= 0) gpus = nodes * local;
    const std::int64_t replica = std::max<std::int64_t>(1, e.tp * e.pp * e.cp);
    if (gpus % replica != 0)
      refuse("tensor-model-parallel-size", fmt::format("{} GPUs are no multiple of tp x pp x cp = {}", gpus, replica));
    e.dp = std::max<std::int64_t>(1, gpus / replica);
    e.batch = number("global-batch-size", e.microbatch * e.dp, false, kLong);
    const std::int64_t per_chunk = number("num-layers-per-virtual-pipeline-stage", -1);
    const std::int64_t stage = run_.model.layers / std::max<std::int64_t>(1, e.pp);
    if (per_chunk == 0 || (per_chunk > 0 && stage % per_chunk != 0))
      refuse("num-layers-per-virtual-pipeline-stage",
             fmt::format("{} does not divide the {} layers of a pipeline stage", per_chunk, stage));
    e.virtual_stages = number("num-virtual-stages-per-pipeline-rank", 1);
    if (per_chunk > 0 && e.pp > 0) e.virtual_stages = std::max<std::int64_t>(1, run_.model.layers / (e.pp * per_chunk));
    e.schedule = e.virtual_stages > 1 ? Schedule::kInterleaved : Schedule::k1f1b;
    e.sequence_parallel = flag("sequence-parallel");
    e.zero = flag("use-distributed-optimizer") ? 1 : 0;
    if (flag("use-torch-fsdp2") || flag("use-custom-fsdp") || flag("use-megatron-fsdp")) e.zero = 3;
    const std::string strategy = text("data-parallel-sharding-strategy");
    if (e.zero == 3 && strategy == "optim_grads") e.zero = 2;
    if (e.zero == 3 && strategy == "optim") e.zero = 1;
    e.optimizer_offload = flag("optimizer-cpu-offload");
    e.dp_overlap = flag("overlap-grad-reduce");
    (void)flag("overlap-param-gather");
    e.tp_overlap = flag("tp-comm-overlap");
    if (flag("use-tp-pp-dp-mapping")) e.order = {Axis::kTp, Axis::kCp, Axis::kEp, Axis::kPp, Axis::kDp};
    if (text("cp-comm-type") == "a2a") e.context_parallel = ContextParallel::kUlysses;
  }
  void memory() {
    Execution& e = run_.execution;
    e.datatype = flag("bf16") ? Datatype::kBf16 : flag("fp16") ? Datatype::kFp16 : Datatype::kFp32;
    if (flag("fp8-format") || flag("fp8-hybrid")) e.datatype = Datatype::kFp8;
    e.flash_attention = flag("use-flash-attn") || text("transformer-impl") != "local";
    e.dropout = real("hidden-dropout", 0.1) > 0 || real("attention-dropout", 0.1) > 0;
    e.gradient_bytes = text("grad-reduce-in-bf16").empty() && flag("grad-reduce-in-bf16") ? 2 : 4;
    const std::string granularity = text("recompute-granularity");
    const std::string method = text("recompute-method");
    const std::int64_t layers = number("recompute-num-layers", 1);
    if (!granularity.empty() && granularity != "selective" && granularity != "full")
      refuse("recompute-granularity", fmt::format("'{}' is neither full nor selective", printable(granularity, 40)));
    if (!method.empty() && method != "uniform" && method != "block")
      refuse("recompute-method", fmt::format("'{}' is neither uniform nor block", printable(method, 40)));
    if (granularity == "selective" || flag("recompute-activations")) e.recompute = Recompute::kSelective;
    if (granularity != "full") return;
    e.recompute = Recompute::kFull;
    const std::int64_t chunk =
        std::max<std::int64_t>(1, run_.model.layers / std::max<std::int64_t>(1, e.pp * e.virtual_stages));
    if (method == "block") e.recompute_share = std::min(1.0, static_cast<double>(layers) / static_cast<double>(chunk));
  }

  MegatronOptions options_;
  const std::string& file_;
  MegatronRun run_;
  Status status_;
  std::vector<std::string> used_;
};

void model_options(const Model& m, const Execution& e, std::vector<std::string>& out) {
  out.push_back(fmt::format("--num-layers {} --hidden-size {} --num-attention-heads {} --ffn-hidden-size {}", m.layers,
                            m.hidden, m.heads, m.ffn));
  if (m.kv_heads != m.heads) out.push_back(fmt::format("--group-query-attention --num-query-groups {}", m.kv_heads));
  if (m.head_width * m.heads != m.hidden) out.push_back(fmt::format("--kv-channels {}", m.head_width));
  const std::int64_t tokens = e.tokens(m);
  out.push_back(fmt::format("--seq-length {} --max-position-embeddings {} --vocab-size {}", tokens,
                            std::max(tokens, m.positions), m.vocab));
  std::string style = m.positions > 0 ? "--position-embedding-type learned_absolute" : "--position-embedding-type rope";
  if (m.gated) style += " --swiglu";
  if (m.rms_norm) style += " --normalization RMSNorm";
  if (!m.bias) style += " --disable-bias-linear";
  if (!m.bias && m.qkv_bias) style += " --add-qkv-bias";
  if (!m.tied_embeddings) style += " --untie-embeddings-and-output-weights";
  out.push_back(style);
  if (m.latent.kv_rank > 0)
    out.push_back(
        fmt::format("--multi-latent-attention{} --kv-lora-rank {} --qk-head-dim {} --qk-pos-emb-head-dim {} "
                    "--v-head-dim {}",
                    m.latent.q_rank > 0 ? fmt::format(" --q-lora-rank {}", m.latent.q_rank) : "", m.latent.kv_rank,
                    m.latent.nope, m.latent.rope, m.latent.value));
  if (m.mtp_layers > 0) out.push_back(fmt::format("--mtp-num-layers {}", m.mtp_layers));
  if (!m.has_moe()) return;
  out.push_back(
      fmt::format("--num-experts {} --moe-router-topk {} --moe-ffn-hidden-size {} --moe-grouped-gemm "
                  "--moe-token-dispatcher-type alltoall",
                  m.moe.experts, m.moe.top_k, m.moe.ffn));
  if (m.moe.shared_ffn > 0) out.push_back(fmt::format("--moe-shared-expert-intermediate-size {}", m.moe.shared_ffn));
  if (m.moe.dense_layers > 0)
    out.push_back(fmt::format("--moe-layer-freq '([0]*{}+[1]*{})'", m.moe.dense_layers, m.layers - m.moe.dense_layers));
  else if (m.moe.every > 1)
    out.push_back(fmt::format("--moe-layer-freq {}", m.moe.every));
  if (e.expert_capacity > 0) out.push_back(fmt::format("--moe-expert-capacity-factor {}", e.expert_capacity));
}

void parallel_options(const Model& m, const Execution& e, std::vector<std::string>& out) {
  std::string degrees = fmt::format("--tensor-model-parallel-size {} --pipeline-model-parallel-size {}", e.tp, e.pp);
  if (e.cp > 1) degrees += fmt::format(" --context-parallel-size {}", e.cp);
  if (e.cp > 1 && e.context_parallel == ContextParallel::kUlysses) degrees += " --cp-comm-type a2a";
  if (e.ep > 1) degrees += fmt::format(" --expert-model-parallel-size {}", e.ep);
  if (e.sequence_parallel) degrees += " --sequence-parallel";
  if (e.virtual_stages > 1)
    degrees += fmt::format(" --num-layers-per-virtual-pipeline-stage {}", m.layers / (e.pp * e.virtual_stages));
  if (e.order[3] == Axis::kPp) degrees += " --use-tp-pp-dp-mapping";
  out.push_back(degrees);
  out.push_back(fmt::format("--micro-batch-size {} --global-batch-size {}", e.microbatch, e.batch));
  std::string data;
  if (e.zero == 1) data = "--use-distributed-optimizer";
  if (e.zero == 2) data = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads";
  if (e.zero == 3) data = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params";
  if (e.optimizer_offload) data += " --optimizer-cpu-offload";
  if (e.dp_overlap) data += " --overlap-grad-reduce";
  if (e.dp_overlap && e.zero > 0) data += " --overlap-param-gather";
  if (e.tp_overlap) data += " --tp-comm-overlap";
  if (e.gradient_bytes == 2) data += " --grad-reduce-in-bf16";
  if (!data.empty()) out.push_back(std::string(trim(data)));
}

}  // namespace

Result<MegatronRun> parse_megatron(std::string_view command, std::int64_t gpus, const std::string& file) {
  return Reader(megatron_options(command), file).run(gpus);
}

Result<std::string> megatron_command(const Model& model, const Execution& execution) {
  const Execution& e = execution;
  if (e.schedule == Schedule::kZbH1 || e.schedule == Schedule::kZbH2 || e.schedule == Schedule::kDualPipe)
    return fail(Code::kInput, fmt::format("Megatron-LM has no schedule {}", schedule_name(e.schedule)),
                "plan with 1f1b or interleaved");
  if (model.kind != ModelKind::kDecoder)
    return fail(Code::kInput, "pretrain_gpt.py of Megatron-LM trains decoders only", "write the command by hand");
  if (e.activation_offload > 0)
    return fail(Code::kInput, "Megatron-LM does not keep a share of the activations in host memory",
                "plan without activation offload");
  std::vector<std::string> lines;
  model_options(model, e, lines);
  parallel_options(model, e, lines);
  if (e.recompute == Recompute::kSelective) lines.emplace_back("--recompute-granularity selective");
  if (e.recompute == Recompute::kFull) {
    const std::int64_t chunk = std::max<std::int64_t>(1, model.layers / (e.pp * e.virtual_stages));
    const auto layers = static_cast<std::int64_t>(e.recompute_share * static_cast<double>(chunk) + 0.5);
    lines.push_back(e.recompute_share < 1
                        ? fmt::format("--recompute-granularity full --recompute-method block --recompute-num-layers {}",
                                      std::max<std::int64_t>(1, layers))
                        : "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  }
  std::string type = e.datatype == Datatype::kFp16 ? "--fp16" : e.datatype == Datatype::kFp32 ? "" : "--bf16";
  if (e.datatype == Datatype::kFp8) type += " --fp8-format hybrid";
  if (e.flash_attention) type += " --use-flash-attn";
  if (!e.dropout) type += " --hidden-dropout 0 --attention-dropout 0";
  lines.push_back(std::string(trim(type)));
  std::string out = "pretrain_gpt.py";
  for (const std::string& line : lines)
    if (!line.empty()) out += " \\\n  " + line;
  return out + "\n";
}

}  // namespace comity::workload
