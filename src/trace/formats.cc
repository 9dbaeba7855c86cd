// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "trace/format.h"

// One line a format; format_<name>.cc defines Format format_<name>().
#define COMITY_TRACE_FORMATS(X) \
  X(philly)                     \
  X(tiresias)                   \
  X(lucid)                      \
  X(comity)                     \
  X(swf)                        \
  X(sacct)                      \
  X(sacct_json)                 \
  X(philly_log)                 \
  X(pbs)                        \
  X(helios)                     \
  X(acme)                       \
  X(pai)                        \
  X(openb)                      \
  X(chronus)                    \
  X(astraea)                    \
  X(sia)                        \
  X(gavel)                      \
  X(columns)

namespace comity::trace {

#define DECLARE(name) Format format_##name();
COMITY_TRACE_FORMATS(DECLARE)
#undef DECLARE

std::span<const Format> formats() {
#define CALL(name) format_##name(),
  static const std::vector<Format> kFormats = {COMITY_TRACE_FORMATS(CALL)};
#undef CALL
  return kFormats;
}

Result<const Format*> find_format(std::string_view name) {
  std::vector<std::string> names;
  std::string list;
  for (const Format& format : formats()) {
    if (format.name == name) return &format;
    names.push_back(format.name);
    list += (list.empty() ? "" : ", ") + format.name;
  }
  const std::string near = nearest(name, names);
  return fail_option("--format", fmt::format("there is no trace format named '{}'", printable(name)),
                     near.empty() ? fmt::format("known formats: {}", list) : fmt::format("did you mean {}?", near));
}

std::string_view first_line_of(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = trim(head.substr(0, end));
    if (!line.empty()) return line;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return {};
}

Result<const Format*> detect_format(std::string_view head) {
  const Format* best = nullptr;
  int best_score = 0;
  std::string refusal;
  for (const Format& format : formats()) {
    const int score = format.detect(head);
    if (score > best_score) {
      best = &format;
      best_score = score;
    }
    if (refusal.empty() && format.refusal != nullptr) refusal = format.refusal(head);
  }
  if (best != nullptr) return best;
  const std::string_view first = first_line_of(head);
  Error error;
  error.code = Code::kInput;
  error.line = 1;
  error.message = refusal.empty()
                      ? fmt::format("no trace format is recognised; the first line is '{}'", printable(first))
                      : refusal;
  error.hint = refusal.empty() ? "say which columns to read: --columns submit=COLUMN,duration=COLUMN,gpus=COLUMN"
                               : "say which columns to read, by number where the file has no header: --columns "
                                 "id=1,submit=2,duration=4,gpus=5";
  return fail(std::move(error));
}

}  // namespace comity::trace
