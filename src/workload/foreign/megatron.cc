// SPDX-License-Identifier: Apache-2.0
#include "workload/foreign/megatron.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace comity::workload {
namespace {

constexpr std::size_t kMaxWords = 10'000;
constexpr std::int64_t kMost = std::int64_t{1} << 20;  // of degrees and widths: products of three stay below 2^63
constexpr std::int64_t kLong = std::int64_t{1} << 30;  // of tokens, words and batches

// Cuts at blanks as a POSIX shell does, without expanding anything.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::vector<std::string> take() {
    for (std::size_t i = 0; i < text_.size() && words_.size() < kMaxWords; ++i) next(i);
    end_word();
    return std::move(words_);
  }

 private:
  void next(std::size_t& i) {
    const char c = text_[i];
    if (quote_ != 0) {
      if (c == quote_)
        quote_ = 0;
      else
        word_ += c;
      return;
    }
    if (c == '\\' && i + 1 < text_.size()) {
      ++i;
      if (text_[i] != '\n' && text_[i] != '\r') {
        word_ += text_[i];
        open_ = true;
      }
      return;
    }
    if (c == '\'' || c == '"') {
      quote_ = c;
      open_ = true;
      return;
    }
    if (c == '#' && !open_ && word_.empty()) {
      while (i < text_.size() && text_[i] != '\n') ++i;
      return;
    }
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return end_word();
    word_ += c;
    open_ = true;
  }
  void end_word() {
    if (open_ || !word_.empty()) words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }

  std::string_view text_;
  std::vector<std::string> words_;
  std::string word_;
  char quote_ = 0;
  bool open_ = false;
};

using Options = std::map<std::string, std::string, std::less<>>;  // without "--"; a flag has the value ""

Options options_of(const std::vector<std::string>& words) {
  Options out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--") || words[i].size() == 2) continue;
    std::string name = words[i].substr(2);
    std::string value;
    if (const std::size_t equal = name.find('='); equal != std::string::npos) {
      value = name.substr(equal + 1);
      name.resize(equal);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      value = words[++i];
    }
    std::replace(name.begin(), name.end(), '_', '-');
    out[name] = value;
  }
  return out;
}

class Reader {
 public:
  Reader(Options options, const std::string& file) : options_(std::move(options)), file_(file) {}

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
  void experts() {
    Moe& moe = run_.model.moe;
    moe.experts = number("num-experts", 0);
    if (moe.experts == 0) return;
    moe.top_k = number("moe-router-topk", 2);
    moe.ffn = number("moe-ffn-hidden-size", run_.model.ffn);
    moe.shared_ffn = number("moe-shared-expert-intermediate-size", 0);
    moe.shared_experts = moe.shared_ffn > 0 ? 1 : 0;
    const std::string frequency = text("moe-layer-freq");
    if (const auto every = parse_int(frequency); every && *every > 0) moe.every = *every;
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
    const std::int64_t per_chunk = number("num-layers-per-virtual-pipeline-stage", 0);
    e.virtual_stages = number("num-virtual-stages-per-pipeline-rank", 1);
    if (per_chunk > 0 && e.pp > 0) e.virtual_stages = std::max<std::int64_t>(1, run_.model.layers / (e.pp * per_chunk));
    e.schedule = e.virtual_stages > 1 ? Schedule::kInterleaved : Schedule::k1f1b;
    e.sequence_parallel = flag("sequence-parallel");
    e.zero = flag("use-distributed-optimizer") ? 1 : 0;
    if (flag("use-torch-fsdp2") || flag("use-custom-fsdp") || flag("use-megatron-fsdp")) e.zero = 3;
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
    if (granularity == "selective" || flag("recompute-activations")) e.recompute = Recompute::kSelective;
    if (granularity != "full") return;
    e.recompute = Recompute::kFull;
    const std::int64_t chunk =
        std::max<std::int64_t>(1, run_.model.layers / std::max<std::int64_t>(1, e.pp * e.virtual_stages));
    if (method == "block") e.recompute_share = std::min(1.0, static_cast<double>(layers) / static_cast<double>(chunk));
  }

  Options options_;
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
  std::string data = e.zero == 3 ? "--use-megatron-fsdp" : e.zero > 0 ? "--use-distributed-optimizer" : "";
  if (e.dp_overlap) data += " --overlap-grad-reduce";
  if (e.dp_overlap && e.zero > 0) data += " --overlap-param-gather";
  if (e.tp_overlap) data += " --tp-comm-overlap";
  if (e.gradient_bytes == 2) data += " --grad-reduce-in-bf16";
  if (!data.empty()) out.push_back(std::string(trim(data)));
}

}  // namespace

Result<MegatronRun> parse_megatron(std::string_view command, std::int64_t gpus, const std::string& file) {
  return Reader(options_of(Words(command).take()), file).run(gpus);
}

Result<std::string> megatron_command(const Model& model, const Execution& execution) {
  const Execution& e = execution;
  if (e.schedule == Schedule::kZbH1 || e.schedule == Schedule::kZbH2 || e.schedule == Schedule::kDualPipe)
    return fail(Code::kInput, fmt::format("Megatron-LM has no schedule {}", schedule_name(e.schedule)),
                "plan with 1f1b or interleaved");
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
