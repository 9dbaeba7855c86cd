// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "workload/foreign/refusal.h"
#include "workload/foreign/simai.h"

namespace comity::workload {

namespace {

constexpr std::size_t kLayers = 10'000'000;
constexpr std::int64_t kMaxNs = 1'000'000'000'000'000;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;
constexpr std::int64_t kMaxDegree = 100'000'000;

constexpr std::array<std::string_view, 11> kParallelism = {"DATA",
                                                           "MODEL",
                                                           "HYBRID_TRANSFORMER",
                                                           "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                                                           "HYBRID_DLRM",
                                                           "HYBRID_DLRM_ENHANCED",
                                                           "HYBRID_DATA_MODEL",
                                                           "HYBRID_MODEL_DATA",
                                                           "MICRO",
                                                           "HYBRID_CUSTOMIZED",
                                                           "DISTRIBUTED_INFERENCE"};
constexpr std::array<std::string_view, 7> kOperations = {"NONE",     "ALLREDUCE", "ALLGATHER",        "REDUCESCATTER",
                                                         "ALLTOALL", "BROADCAST", "ALLREDUCEALLTOALL"};
constexpr std::array<std::string_view, 3> kSuffixes = {"", "_EP", "_DP_EP"};

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t\r", i);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    i = end;
  }
  return out;
}

// AICB computes in Python: a size may come out as "1024.0".
std::optional<std::int64_t> whole(std::string_view word) {
  if (const auto n = parse_int(word)) return n;
  const auto real = parse_double(word);
  if (!real || *real != std::floor(*real) || std::abs(*real) > 9e15) return {};
  return static_cast<std::int64_t>(*real);
}

class Parser {
 public:
  explicit Parser(LineReader& reader) : reader_(reader) {}

  Result<SimaiWorkload> run() {
    auto header = line("the header");
    if (!header) return fail(header.error());
    if (auto done = this->header(*header); !done) return fail(done.error());
    auto count = line("the number of layers");
    if (!count) return fail(count.error());
    const auto layers = parse_int(trim(*count));
    if (!layers || *layers < 1 || *layers > static_cast<std::int64_t>(kLayers))
      return wrong("layers", fmt::format("\"{}\" is no number of layers (1 to {})", printable(trim(*count)), kLayers));
    for (std::int64_t i = 0; i < *layers; ++i) {
      auto text = line(fmt::format("layer {} of {}", i + 1, *layers));
      if (!text) return fail(text.error());
      if (auto done = layer(*text); !done) return fail(done.error());
    }
    return rest();
  }

 private:
  [[nodiscard]] tl::unexpected<Error> wrong(std::string field, std::string message, std::string hint = {}) const {
    return refuse({.file = reader_.name(), .line = line_, .field = std::move(field)}, std::move(message),
                  std::move(hint));
  }

  // The next line that is not blank.
  Result<std::string_view> line(const std::string& what) {
    for (;;) {
      const auto next = reader_.next();
      if (!next) return fail(next.error());
      line_ = std::max<std::int64_t>(next->number, 1);
      if (next->at_end) return wrong({}, fmt::format("the file ends where {} should be", what), "it was cut off");
      if (!trim(next->text).empty()) return next->text;
    }
  }

  Status list(std::span<const std::string_view> tokens, std::size_t& at, std::string_view key,
              std::vector<std::int64_t>& out) {
    const auto count = at + 1 < tokens.size() ? whole(tokens[++at]) : std::nullopt;
    if (!count || *count < 0 || static_cast<std::uint64_t>(*count) > tokens.size())
      return wrong(std::string(key), "a count and as many layers are expected");
    for (std::int64_t i = 0; i < *count; ++i) {
      const auto layer = at + 1 < tokens.size() ? whole(tokens[++at]) : std::nullopt;
      if (!layer) return wrong(std::string(key), fmt::format("{} layers are expected", *count));
      out.push_back(*layer);
    }
    return {};
  }

  std::optional<std::int64_t>* degree(std::string_view key) {
    if (key == "model_parallel_NPU_group") return &work_.tp;
    if (key == "ep") return &work_.ep;
    if (key == "pp") return &work_.pp;
    if (key == "vpp") return &work_.vpp;
    if (key == "ga") return &work_.ga;
    if (key == "all_gpus") return &work_.all_gpus;
    if (key == "pp_comm") return &work_.pp_comm;
    if (key == "DLRM_LAST_BOTTOM_LAYER") return &work_.last_bottom_layer;
    return nullptr;
  }

  Status header(std::string_view text) {
    const auto tokens = words(text);
    work_.parallelism = std::string(tokens[0]);
    if (std::find(kParallelism.begin(), kParallelism.end(), tokens[0]) == kParallelism.end())
      return wrong("parallelism", fmt::format("\"{}\" is no kind of parallelism", printable(tokens[0])),
                   fmt::format("a SimAI workload begins with one of {}", fmt::join(kParallelism, ", ")));
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      const std::string_view key = tokens[i].ends_with(':') ? tokens[i].substr(0, tokens[i].size() - 1) : tokens[i];
      if (key == "checkpoints" || key == "checkpoint_initiates") {
        if (auto done = list(tokens, i, key, key == "checkpoints" ? work_.checkpoints : work_.checkpoint_initiates);
            !done)
          return done;
        continue;
      }
      std::optional<std::int64_t>* const out = degree(key);
      if (out == nullptr) {
        work_.notes.push_back(fmt::format("line {}: \"{}\" is not known, passed over", line_, printable(tokens[i])));
        continue;
      }
      const bool zero = out == &work_.pp_comm || out == &work_.last_bottom_layer;
      const auto value = i + 1 < tokens.size() ? whole(tokens[++i]) : std::nullopt;
      if (!value || *value < (zero ? 0 : 1) || *value > (zero ? kMaxBytes : kMaxDegree))
        return wrong(std::string(key), fmt::format("a whole number from {} is expected", zero ? 0 : 1));
      *out = value;
    }
    return {};
  }

  Status number(std::string_view word, const char* column, std::int64_t low, std::int64_t high, std::int64_t& out) {
    const auto value = whole(word);
    if (!value || *value < low || *value > high)
      return wrong(column, fmt::format("\"{}\" is no whole number from {} to {}", printable(word), low, high));
    out = *value;
    return {};
  }

  Status operation(std::string_view word, const char* column, SimaiPass& pass) {
    for (std::size_t s = kSuffixes.size(); s-- > 0;)
      for (std::size_t o = 0; o < kOperations.size(); ++o)
        if (word.size() == kOperations[o].size() + kSuffixes[s].size() && word.starts_with(kOperations[o]) &&
            word.ends_with(kSuffixes[s])) {
          pass.operation = static_cast<SimaiOperation>(o);
          pass.suffix = static_cast<SimaiSuffix>(s);
          return {};
        }
    return wrong(column, fmt::format("\"{}\" is no operation", printable(word)),
                 fmt::format("one of {}, with nothing, _EP or _DP_EP behind", fmt::join(kOperations, ", ")));
  }

  Status pass(std::span<const std::string_view> tokens, const std::array<const char*, 3>& columns, SimaiPass& out) {
    if (auto done = number(tokens[0], columns[0], 0, kMaxNs, out.compute_ns); !done) return done;
    if (auto done = operation(tokens[1], columns[1], out); !done) return done;
    return number(tokens[2], columns[2], 0, kMaxBytes, out.bytes);
  }

  Status layer(std::string_view text) {
    const auto tokens = words(text);
    const std::size_t expected = work_.parallelism == "HYBRID_CUSTOMIZED" ? 13 : 12;
    if (tokens.size() != expected)
      return wrong({}, fmt::format("{} columns, {} are expected", tokens.size(), expected),
                   "name, -1, three times compute, operation and bytes, update time");
    SimaiLayer layer;
    layer.name = std::string(tokens[0]);
    const std::span<const std::string_view> all(tokens);
    auto done = number(tokens[1], "placeholder", -kMaxNs, kMaxNs, layer.placeholder);
    if (done) done = pass(all.subspan(2, 3), {"fwd_compute", "fwd_comm", "fwd_bytes"}, layer.forward);
    if (done) done = pass(all.subspan(5, 3), {"ig_compute", "ig_comm", "ig_bytes"}, layer.input_grad);
    if (done) done = pass(all.subspan(8, 3), {"wg_compute", "wg_comm", "wg_bytes"}, layer.weight_grad);
    if (done) done = number(tokens[11], "process_time", 0, kMaxNs, layer.update_ns);
    if (!done) return done;
    if (expected == 13) layer.policy = std::string(tokens[12]);
    work_.layers.push_back(std::move(layer));
    return {};
  }

  Result<SimaiWorkload> rest() {
    std::int64_t more = 0;
    for (;;) {
      const auto next = reader_.next();
      if (!next) return fail(next.error());
      if (next->at_end) break;
      if (!trim(next->text).empty()) ++more;
    }
    if (more > 0)
      work_.notes.push_back(
          fmt::format("{} lines behind the {} layers of line 2 passed over", more, work_.layers.size()));
    return std::move(work_);
  }

  LineReader& reader_;
  SimaiWorkload work_;
  std::int64_t line_ = 0;
};

void put_pass(std::string& out, const SimaiPass& pass) {
  out += fmt::format("\t{}\t{}{}\t{}", pass.compute_ns, kOperations[static_cast<std::size_t>(pass.operation)],
                     kSuffixes[static_cast<std::size_t>(pass.suffix)], pass.bytes);
}

}  // namespace

bool SimaiWorkload::operator==(const SimaiWorkload& o) const {
  return parallelism == o.parallelism && tp == o.tp && ep == o.ep && pp == o.pp && vpp == o.vpp && ga == o.ga &&
         all_gpus == o.all_gpus && pp_comm == o.pp_comm && last_bottom_layer == o.last_bottom_layer &&
         checkpoints == o.checkpoints && checkpoint_initiates == o.checkpoint_initiates && layers == o.layers;
}

Result<SimaiWorkload> read_simai_from(LineReader& reader) { return Parser(reader).run(); }

Result<SimaiWorkload> read_simai(const std::string& path) {
  auto source = open_source(path);
  if (!source) return fail(source.error());
  LineReader reader(std::move(*source), path);
  return read_simai_from(reader);
}

std::string write_simai(const SimaiWorkload& w) {
  std::string out = w.parallelism;
  const auto degree = [&](const char* key, const std::optional<std::int64_t>& value) {
    if (value) out += fmt::format(" {}: {}", key, *value);
  };
  degree("model_parallel_NPU_group", w.tp);
  degree("ep", w.ep);
  degree("pp", w.pp);
  degree("vpp", w.vpp);
  degree("ga", w.ga);
  degree("all_gpus", w.all_gpus);
  degree("DLRM_LAST_BOTTOM_LAYER", w.last_bottom_layer);
  if (w.parallelism.starts_with("HYBRID_TRANSFORMER") || !w.checkpoints.empty() || !w.checkpoint_initiates.empty()) {
    out += fmt::format(" checkpoints: {}", w.checkpoints.size());
    for (const std::int64_t layer : w.checkpoints) out += fmt::format(" {}", layer);
    out += fmt::format(" checkpoint_initiates: {}", w.checkpoint_initiates.size());
    for (const std::int64_t layer : w.checkpoint_initiates) out += fmt::format(" {}", layer);
  }
  degree("pp_comm", w.pp_comm);
  out += fmt::format("\n{}\n", w.layers.size());
  for (const SimaiLayer& layer : w.layers) {
    out += fmt::format("{}\t{}", layer.name, layer.placeholder);
    put_pass(out, layer.forward);
    put_pass(out, layer.input_grad);
    put_pass(out, layer.weight_grad);
    out += fmt::format("\t{}", layer.update_ns);
    if (!layer.policy.empty()) out += fmt::format("\t{}", layer.policy);
    out += '\n';
  }
  return out;
}

}  // namespace comity::workload
