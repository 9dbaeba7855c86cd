// SPDX-License-Identifier: Apache-2.0
#include "cluster/spec_csv.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/limits.h"
#include "base/text.h"

namespace comity::cluster {
namespace {

// The columns of a list; the number of CPUs in units of 1 / `cpus_per`.
struct ListFormat {
  std::string_view name, gpus, model, cpus;
  std::int64_t cpus_per = 1;
  std::string_view memory_mib{};  // "" = the list has none
};

constexpr std::array<ListFormat, 2> kFormats = {
    {{.name = "sn", .gpus = "gpu", .model = "model", .cpus = "cpu_milli", .cpus_per = 1000, .memory_mib = "memory_mib"},
     {.name = "node_name", .gpus = "gpu_capacity_num", .model = "gpu_model", .cpus = "cpu_num"}}};
constexpr std::int64_t kMostCpus = 1'000'000;
constexpr std::int64_t kMostMib = std::int64_t{1} << 40;

// Takes the next line off `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

std::vector<std::string_view> titles_of(std::string_view line, std::string& scratch) {
  std::vector<std::string_view> titles;
  if (!split_csv(line, ',', titles, scratch)) return {};
  for (std::string_view& title : titles) title = trim(title);
  return titles;
}

const ListFormat* format_of(const std::vector<std::string_view>& titles) {
  const auto has = [&](std::string_view title) {
    return std::find(titles.begin(), titles.end(), title) != titles.end();
  };
  for (const ListFormat& f : kFormats) {
    if (has(f.name) && has(f.gpus) && has(f.model) && has(f.cpus)) return &f;
  }
  return nullptr;
}

class NodeListReader {
 public:
  NodeListReader(std::string_view text, const std::string& path) : rest_(text), path_(&path) {}

  Result<ClusterSpec> read() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    titles_ = titles_of(next(), titles_scratch_);
    format_ = format_of(titles_);
    if (format_ == nullptr) return refuse({}, "is no node list", "its first line names the columns of a known list");
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      if (std::find(titles_.begin(), titles_.begin() + static_cast<std::ptrdiff_t>(i), titles_[i]) !=
          titles_.begin() + static_cast<std::ptrdiff_t>(i))
        return refuse(titles_[i], "two columns have this name", "rename one of them");
    }
    while (!rest_.empty()) {
      const std::string_view line = next();
      if (trim(line).empty()) continue;
      if (Status status = add(line); !status) return fail(std::move(status.error()));
    }
    if (spec_.nodes.empty()) return refuse(format_->gpus, "no node has a GPU", "check that it is the right list");
    return std::move(spec_);
  }

 private:
  std::string_view next() {
    ++line_;
    return take_line(rest_);
  }

  [[nodiscard]] tl::unexpected<Error> refuse(std::string_view field, std::string message, std::string hint) const {
    return fail(Error{.code = Code::kInput,
                      .message = std::move(message),
                      .file = *path_,
                      .line = line_,
                      .field = printable(field),
                      .hint = std::move(hint),
                      .cause = {}});
  }

  [[nodiscard]] std::string_view field(std::string_view title) const {
    const auto at = std::find(titles_.begin(), titles_.end(), title);
    return at == titles_.end() ? std::string_view() : trim(fields_[static_cast<std::size_t>(at - titles_.begin())]);
  }

  // A whole number ("8" or "8.0") from 0 to `most`.
  [[nodiscard]] Result<std::int64_t> number(std::string_view title, std::int64_t most) const {
    std::string_view text = field(title);
    if (text.ends_with(".0")) text.remove_suffix(2);
    const auto value = parse_int(text);
    if (value && *value >= 0 && *value <= most) return *value;
    return refuse(title, fmt::format("is no whole number from 0 to {}: '{}'", most, printable(field(title))),
                  "mend or remove the line");
  }

  Status add(std::string_view line) {
    if (!split_csv(line, ',', fields_, scratch_)) return refuse({}, "a quote has no end", "mend or remove the line");
    if (fields_.size() != titles_.size()) {
      return refuse({}, fmt::format("the line has {} fields, the header {}", fields_.size(), titles_.size()),
                    "mend or remove the line");
    }
    const auto gpus = number(format_->gpus, limits::kGpusPerNode);
    const auto cpus = number(format_->cpus, kMostCpus * format_->cpus_per);
    const auto memory = format_->memory_mib.empty() ? Result<std::int64_t>(0) : number(format_->memory_mib, kMostMib);
    for (const auto* value : {&gpus, &cpus, &memory}) {
      if (!*value) return fail(value->error());
    }
    NodeSpec node;
    node.name = field(format_->name);
    node.gpu_type = field(format_->model);
    if (node.name.empty()) return refuse(format_->name, "is empty", "name the node");
    if (std::max(node.name.size(), node.gpu_type.size()) > limits::kNameBytes)
      return refuse(format_->name, "is longer than 4096 bytes", "name the node shorter");
    if (!names_.insert(node.name).second) {
      return refuse(format_->name, fmt::format("an earlier line has the same node {}", printable(node.name)),
                    "remove one of the lines");
    }
    if (names_.size() > static_cast<std::size_t>(limits::kNodes))
      return refuse({}, "more than a million nodes", "split the list");
    if (*gpus == 0) {
      ++spec_.nodes_without_gpus;
      return {};
    }
    node.line = line_;
    node.gpus = static_cast<std::uint32_t>(*gpus);
    node.cpus = static_cast<std::uint32_t>(*cpus / format_->cpus_per);
    node.memory_mb = static_cast<std::uint64_t>(*memory);
    spec_.nodes.push_back(std::move(node));
    return {};
  }

  std::string_view rest_;
  const std::string* path_;
  const ListFormat* format_ = nullptr;
  std::int64_t line_ = 0;
  std::vector<std::string_view> titles_;
  std::vector<std::string_view> fields_;
  std::string titles_scratch_;
  std::string scratch_;
  std::unordered_set<std::string> names_;
  ClusterSpec spec_;
};

}  // namespace

bool is_node_list(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string scratch;
  return format_of(titles_of(take_line(text), scratch)) != nullptr;
}

Result<ClusterSpec> parse_node_list(std::string_view text, const std::string& path) {
  return NodeListReader(text, path).read();
}

}  // namespace comity::cluster
