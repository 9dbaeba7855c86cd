// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "trace/output.h"
#include "trace/writer.h"

namespace comity::trace {
namespace {

// Numbers for the names of one kind.
class Numbers {
 public:
  Numbers(const Trace& trace, std::uint32_t profile::JobRequest::* member) : numbers_(trace.names.size(), -1) {
    bool own = true;
    std::vector<std::uint32_t> order;
    for (const Row& row : trace.rows) {
      const std::uint32_t name = row.request.*member;
      if (name == profile::kNoName || numbers_[name] >= 0) continue;
      const auto number = parse_int(trace.names[name]);
      own = own && number && *number >= 0 && std::to_string(*number) == trace.names[name];
      order.push_back(name);
      numbers_[name] = number && *number >= 0 ? *number : 0;
    }
    if (own) return;
    named_ = std::move(order);
    for (std::size_t i = 0; i < named_.size(); ++i) numbers_[named_[i]] = static_cast<std::int64_t>(i + 1);
  }

  [[nodiscard]] std::int64_t operator()(std::uint32_t name) const {
    return name == profile::kNoName ? -1 : numbers_[name];
  }
  // Names in the order of their numbers from 1; empty where names are numbers themselves.
  [[nodiscard]] const std::vector<std::uint32_t>& named() const { return named_; }

 private:
  std::vector<std::int64_t> numbers_;
  std::vector<std::uint32_t> named_;
};

Time whole_seconds(Time ns) { return ns < 0 ? -1 : (ns + kSecond / 2) / kSecond; }

void append_header(std::string& out, const Trace& trace, const Numbers& users, const Numbers& tenants) {
  out += fmt::format("; Version: 2.2\n; Conversion: comity, from {}\n; MaxJobs: {}\n; MaxRecords: {}\n",
                     printable(trace.path, 400), trace.rows.size(), trace.rows.size());
  if (trace.declared_gpus > 0) out += fmt::format("; MaxProcs: {}\n", trace.declared_gpus);
  out += "; Note: a processor is a GPU; the group is the tenant\n";
  const auto list = [&](const char* kind, const std::vector<std::uint32_t>& names) {
    for (std::size_t i = 0; i < names.size(); ++i)
      out += fmt::format("; Note: {} {} is {}\n", kind, i + 1, printable(trace.names[names[i]], 400));
  };
  list("user", users.named());
  list("group", tenants.named());
}

}  // namespace

std::vector<std::string> lost_in_swf(const Trace& trace) {
  bool fractions = false, nodes = false, types = false, groups = false;
  for (const Row& row : trace.rows) {
    const profile::JobRequest& r = row.request;
    for (const Time t : {row.submit, row.duration, std::max<Time>(0, row.wait), std::max<Time>(0, r.estimate)})
      fractions |= t % kSecond != 0;
    nodes |= r.shape.nodes != 0;
    types |= r.gpu_type != profile::kNoName;
    groups |= r.group != profile::kNoName;
  }
  std::vector<std::string> lost;
  const auto add = [&](bool is_lost, const char* what) {
    if (is_lost) lost.emplace_back(what);
  };
  add(fractions, "fractions of a second");
  add(nodes, "GPUs per node");
  add(types, "GPU types");
  add(groups, "resource groups");
  add(!trace.text_ids.empty(), "ids that are no numbers");
  add(!trace.attributes.empty(), "names and other attributes of jobs");
  return lost;
}

Status write_swf(const Trace& trace, const std::string& path) {
  Result<Output> out = Output::open(path);
  if (!out) return fail(std::move(out.error()));
  const Numbers users(trace, &profile::JobRequest::user);
  const Numbers tenants(trace, &profile::JobRequest::tenant);
  append_header(out->text, trace, users, tenants);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const Row& row = trace.rows[i];
    const auto gpus = static_cast<std::int64_t>(row.request.shape.total());
    const std::int64_t id = trace.text_ids.empty() ? row.id : static_cast<std::int64_t>(i + 1);
    const std::array<std::int64_t, 18> fields = {id,
                                                 whole_seconds(row.submit),
                                                 whole_seconds(row.wait),
                                                 whole_seconds(row.duration),
                                                 gpus,
                                                 -1,
                                                 -1,
                                                 gpus,
                                                 whole_seconds(row.request.estimate),
                                                 -1,
                                                 1,
                                                 users(row.request.user),
                                                 tenants(row.request.tenant),
                                                 -1,
                                                 -1,
                                                 -1,
                                                 -1,
                                                 -1};
    for (const std::int64_t field : fields) {
      append_number(out->text, field);
      out->text += ' ';
    }
    out->text.back() = '\n';
    if (Status status = out->flush_if_full(); !status) return status;
  }
  return out->finish();
}

}  // namespace comity::trace
