// SPDX-License-Identifier: Apache-2.0
#include "profile/colocation.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/limits.h"
#include "base/text.h"

namespace comity::profile {

// Rows of one of the files, by the names of their columns.
class ColocationReader {
 public:
  ColocationReader(LineReader& reader, Colocation& into) : reader_(reader), into_(into) {}

  Status read(bool pairs) {
    if (Status status = header(pairs); !status) return status;
    for (;;) {
      auto line = reader_.next();
      if (!line) return fail(line.error());
      if (line->at_end) return {};
      line_ = line->number;
      if (trim(line->text).empty()) continue;
      if (!split_csv(line->text, ',', fields_, scratch_))
        return refuse({}, "a quote has no end or fields are too many");
      if (fields_.size() != columns_)
        return refuse({}, fmt::format("the line has {} fields, the header {}", fields_.size(), columns_));
      if (Status status = pairs ? pair() : score(); !status) return status;
    }
  }

 private:
  enum Column : std::size_t { kModel, kDataset, kBatch, kAmp, kValue, kColumns };
  using Side = std::array<std::size_t, kColumns>;  // column -> field
  static constexpr std::array<const char*, kColumns> kScoreNames = {"model", "dataset", "batchsize", "amp", "label"};
  static constexpr std::array<const char*, kColumns> kPairNames = {"model", "dataset", "batchsize", "amp", "speed"};

  [[nodiscard]] Status refuse(std::string_view field, std::string message) const {
    return fail(Error{.code = Code::kInput,
                      .message = std::move(message),
                      .file = reader_.name(),
                      .line = line_,
                      .field = printable(field),
                      .hint = "mend or remove the line",
                      .cause = {}});
  }

  Status header(bool pairs) {
    auto line = reader_.next();
    if (!line) return fail(line.error());
    line_ = 1;
    if (line->at_end) return refuse({}, "the file is empty");
    if (!split_csv(line->text, ',', fields_, scratch_)) return refuse({}, "is no header");
    columns_ = fields_.size();
    const int sides = pairs ? 2 : 1;
    for (int side = 0; side < sides; ++side) {
      for (std::size_t c = 0; c < kColumns; ++c) {
        names_[side][c] = pairs ? fmt::format("{}{}", kPairNames[c], side + 1) : kScoreNames[c];
        const auto is_it = [&](std::string_view f) { return trim(f) == names_[side][c]; };
        const auto it = std::find_if(fields_.begin(), fields_.end(), is_it);
        if (it == fields_.end()) return refuse(names_[side][c], "there is no such column");
        if (std::find_if(it + 1, fields_.end(), is_it) != fields_.end())
          return refuse(names_[side][c], "two columns have this name");
        at_[side][c] = static_cast<std::size_t>(it - fields_.begin());
      }
    }
    return {};
  }

  [[nodiscard]] std::string_view text(int side, Column c) const { return trim(fields_[at_[side][c]]); }

  // A whole number ("32" or "32.0") from 0 to `most`.
  Status whole(int side, Column c, std::int64_t most, std::int64_t& out) const {
    std::string_view t = text(side, c);
    if (t.ends_with(".0")) t.remove_suffix(2);
    const auto value = parse_int(t);
    if (!value || *value < 0 || *value > most)
      return refuse(names_[side][c],
                    fmt::format("is no whole number from 0 to {}: '{}'", most, printable(text(side, c))));
    out = *value;
    return {};
  }

  Status kind(int side, std::uint32_t& out) {
    std::int64_t batch = 0;
    std::int64_t amp = 0;
    if (Status status = whole(side, kBatch, 1'000'000'000, batch); !status) return status;
    if (Status status = whole(side, kAmp, 1, amp); !status) return status;
    for (const Column c : {kModel, kDataset}) {
      if (text(side, c).empty()) return refuse(names_[side][c], "is empty");
      if (text(side, c).size() > limits::kNameBytes) return refuse(names_[side][c], "is longer than 4096 bytes");
    }
    std::string key = Colocation::key_of(text(side, kModel), text(side, kDataset), batch, static_cast<int>(amp));
    const auto next = static_cast<std::uint32_t>(into_.scores_.size());
    const auto [it, made] = into_.index_.try_emplace(std::move(key), next);
    if (made) {
      if (next == Colocation::kMostKinds) return refuse({}, "more than 100000 kinds of work");
      into_.scores_.push_back(-1);
    }
    out = it->second;
    return {};
  }

  Status score() {
    std::uint32_t id = 0;
    std::int64_t label = 0;
    if (Status status = kind(0, id); !status) return status;
    if (Status status = whole(0, kValue, 2, label); !status) return status;
    if (into_.scores_[id] >= 0) return refuse({}, "an earlier line is of the same kind of work");
    into_.scores_[id] = static_cast<std::int8_t>(label);
    return {};
  }

  Status pair() {
    std::array<std::uint32_t, 2> ids{};
    std::array<double, 2> speeds{};
    for (int side = 0; side < 2; ++side) {
      if (Status status = kind(side, ids[side]); !status) return status;
      const auto speed = parse_double(text(side, kValue));
      if (!speed || !(*speed > 0) || *speed > Colocation::kMostSpeed)
        return refuse(names_[side][kValue], fmt::format("is no number above 0 and up to {}: '{}'",
                                                        Colocation::kMostSpeed, printable(text(side, kValue))));
      speeds[side] = *speed;
    }
    if (into_.pairs_.size() == Colocation::kMostPairs) return refuse({}, "more than a million pairs");
    const auto key = (std::uint64_t{ids[0]} << 32) | ids[1];
    if (!into_.pairs_.try_emplace(key, PairSpeeds{speeds[0], speeds[1]}).second)
      return refuse({}, "an earlier line is of the same pair");
    return {};
  }

  LineReader& reader_;
  Colocation& into_;
  std::int64_t line_ = 0;
  std::size_t columns_ = 0;
  std::array<Side, 2> at_{};
  std::array<std::array<std::string, kColumns>, 2> names_;
  std::vector<std::string_view> fields_;
  std::string scratch_;
};

std::string Colocation::key_of(std::string_view model, std::string_view dataset, std::int64_t batch_size,
                               int mixed_precision) {
  return fmt::format("{}\n{}\n{}\n{}", model, dataset, batch_size, mixed_precision);
}

Status Colocation::read_pairs(LineReader& reader) { return ColocationReader(reader, *this).read(true); }
Status Colocation::read_scores(LineReader& reader) { return ColocationReader(reader, *this).read(false); }

std::uint32_t Colocation::find(std::string_view model, std::string_view dataset, std::int64_t batch_size,
                               int mixed_precision) const {
  const auto it = index_.find(key_of(model, dataset, batch_size, mixed_precision));
  return it == index_.end() ? kNone : it->second;
}

bool Colocation::speeds(std::uint32_t first, std::uint32_t second, PairSpeeds& out) const {
  if (first == kNone || second == kNone) return false;
  auto it = pairs_.find((std::uint64_t{first} << 32) | second);
  if (it != pairs_.end()) {
    out = it->second;
    return true;
  }
  it = pairs_.find((std::uint64_t{second} << 32) | first);
  if (it == pairs_.end()) return false;
  out = {it->second.second, it->second.first};
  return true;
}

Result<Colocation> read_colocation(const std::string& pairs, const std::string& scores) {
  Colocation table;
  for (const bool is_pairs : {true, false}) {
    const std::string& path = is_pairs ? pairs : scores;
    if (path.empty()) continue;
    auto source = open_source(path);
    if (!source) return fail(source.error());
    LineReader reader(std::move(*source), path);
    if (Status status = is_pairs ? table.read_pairs(reader) : table.read_scores(reader); !status)
      return fail(status.error());
  }
  return table;
}

}  // namespace comity::profile
