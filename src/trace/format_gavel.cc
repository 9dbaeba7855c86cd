// SPDX-License-Identifier: Apache-2.0
// Traces of Gavel (stanford-futuredata/gavel), tab separated, without a header, arrival in seconds:
//
//   7 fields   job type, command, argument for the steps, needs data, steps, arrival, GPUs            (traces/msr)
//   9 fields   job type, command, argument for the steps, needs data, steps, GPUs, weight, SLO, arrival
//   10 fields  the same with the working directory behind the command (physical_cluster)
//
// duration: NOT in the file. It is steps / the rate of the job type on V100, Gavel's reference GPU, by gavel_rates.h:
// with 9 and 10 fields the rate on as many GPUs as the job has, with 7 the earlier one whatever their number; this
// undoes how the traces were made. Every job's duration_basis says so. A job type or size without a rate is a bad line.
// model and batch size come from the job type: "ResNet-18 (batch size 32)". priority = weight. SLO: -1 = none, else the
// deadline is SLO x duration after the arrival (Gavel's scheduler), worth 1, strict, and the class slo. Left out: the
// argument for the steps and whether the job needs data.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "trace/gavel_rates.h"
#include "trace/table_decoder.h"

namespace comity::trace {
namespace {

enum Col : std::size_t { kType, kCommand, kDirectory, kArgument, kData, kSteps, kGpus, kWeight, kSlo, kArrival };
constexpr std::array<std::string_view, 10> kTitles = {
    "job type",        "command", "working directory", "steps argument", "needs data", "total steps", "scale factor",
    "priority weight", "SLO",     "arrival time"};
constexpr std::array<Col, 10> kTen = {kType,  kCommand, kDirectory, kArgument, kData,
                                      kSteps, kGpus,    kWeight,    kSlo,      kArrival};
constexpr std::array<Col, 9> kNine = {kType, kCommand, kArgument, kData, kSteps, kGpus, kWeight, kSlo, kArrival};
constexpr std::array<Col, 7> kSeven = {kType, kCommand, kArgument, kData, kSteps, kArrival, kGpus};

TableLayout layout_of(std::span<const Col> order) {
  TableLayout layout;
  layout.at.assign(kTitles.size(), TableLayout::kNone);
  for (std::size_t i = 0; i < order.size(); ++i) layout.at[order[i]] = i;
  for (const std::string_view title : kTitles) layout.titles.emplace_back(title);
  layout.fields = order.size();
  layout.separator = '\t';
  return layout;
}

// The layout of a line with `fields` fields; nothing when no trace of Gavel has so many.
std::optional<TableLayout> layout_for(std::size_t fields) {
  if (fields == kTen.size()) return layout_of(kTen);
  if (fields == kNine.size()) return layout_of(kNine);
  if (fields == kSeven.size()) return layout_of(kSeven);
  return std::nullopt;
}

class GavelDecoder final : public TableDecoder {
 public:
  using TableDecoder::TableDecoder;

 private:
  Outcome row(Record& record, Problem& problem) override {
    if (!whole(kSteps, record.iterations, problem) || !whole(kGpus, record.gpus, problem)) return Outcome::kBad;
    const bool fine =
        store(kArrival, Field::kSubmit, record, problem) && store(kCommand, Field::kCommand, record, problem) &&
        store(kDirectory, Field::kDirectory, record, problem) && type(record, problem) && duration(record, problem) &&
        deadline(record, problem) && (!has(kWeight) || real(kWeight, record.priority, problem));
    return fine ? Outcome::kRow : Outcome::kBad;
  }

  // "NAME (batch size N)" or "NAME".
  bool type(Record& record, Problem& problem) const {
    constexpr std::string_view kBatch = " (batch size ";
    const std::string_view type = text(kType);
    const std::size_t at = type.find(kBatch);
    record.name(Field::kModel) = type.substr(0, at);
    record.batch_size = -1;
    if (at == std::string_view::npos) return !type.empty() || refuse(kType, "is empty", problem);
    const std::string_view rest = type.substr(at + kBatch.size());
    const auto batch = parse_int(rest.substr(0, rest.size() - (rest.ends_with(')') ? 1 : 0)));
    if (!rest.ends_with(')') || !batch || *batch < 1) return refuse(kType, "has no batch size it can be", problem);
    record.batch_size = *batch;
    return true;
  }

  bool duration(Record& record, Problem& problem) const {
    const bool early = !has(kWeight);
    const auto rate = early ? gavel_early_rate(text(kType)) : gavel_rate(text(kType), record.gpus);
    if (!rate) {
      return refuse(early ? kType : kGpus,
                    fmt::format("the file has no run times, and no rate is known for {} on {} V100",
                                printable(text(kType)), record.gpus),
                    problem);
    }
    const double seconds = static_cast<double>(record.iterations) / *rate;
    if (seconds > to_seconds(kMaxTime)) return refuse(kSteps, "makes a run time of more than 73 years", problem);
    record.duration = from_seconds(seconds);
    record.name(Field::kDurationBasis) = "steps at Gavel's rate on V100";
    return true;
  }

  bool deadline(Record& record, Problem& problem) const {
    record.deadlines.clear();
    record.name(Field::kClass) = {};
    if (!has(kSlo)) return true;
    const auto slo = parse_double(text(kSlo));
    if (!slo) return refuse(kSlo, "is no number", problem);
    if (*slo == -1) return true;
    const double seconds = *slo * to_seconds(record.duration);
    if (*slo < 0 || seconds > to_seconds(kMaxTime)) return refuse(kSlo, "is no deadline within 73 years", problem);
    record.deadlines.push_back({.after = from_seconds(seconds), .value = 1, .strict = true});
    record.name(Field::kClass) = "slo";
    return true;
  }
};

// A tab separated line with numbers where Gavel has numbers.
int detect(std::string_view head) {
  const std::string_view line = first_line_of(head);
  const std::vector<std::string_view> fields = split(line, '\t');
  const auto layout = layout_for(fields.size());
  if (!layout) return 0;
  for (const Col c : {kData, kSteps, kGpus, kArrival}) {
    if (!parse_double(trim(fields[layout->at[c]]))) return 0;
  }
  return !trim(fields[0]).empty() && !parse_double(trim(fields[0])) ? 90 : 0;
}

Result<Opened> open(std::string_view line, const std::string& /*columns*/) {
  const std::size_t fields = split(line, '\t').size();
  auto layout = layout_for(fields);
  if (!layout) {
    return column_error({}, fmt::format("the line has {} tab separated fields", fields),
                        "a trace of Gavel has 7, 9 or 10");
  }
  Opened opened;
  opened.header = false;
  opened.decoder = std::make_unique<GavelDecoder>(std::move(*layout));
  opened.ignored_columns = {std::string(kTitles[kArgument]), std::string(kTitles[kData])};
  return opened;
}

}  // namespace

Format format_gavel() {
  return {.name = "gavel",
          .description = "Gavel: 7, 9 or 10 tab separated fields; run times from steps and the rates on V100",
          .detect = detect,
          .open = open,
          .refusal = nullptr};
}

}  // namespace comity::trace
