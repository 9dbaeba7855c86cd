// SPDX-License-Identifier: Apache-2.0
#include "base/table.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/csv.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/utf8.h"

namespace comity {
namespace {

// A cell as it is shown. Job and user names come from outside and must not steer the terminal.
std::string shown(const std::string& text) { return printable(text, limits::kNameBytes); }

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<Cell> cells) {
  COMITY_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::best_rows(std::size_t column) const {
  COMITY_CHECK(column < columns_.size());
  std::vector<std::size_t> best;
  if (columns_[column].best == Best::kNone || rows_.size() < 2) return best;
  const double sign = columns_[column].best == Best::kLowest ? 1 : -1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double v = sign * rows_[i][column].value;
    if (std::isnan(v) || v > least) continue;
    if (v < least) best.clear();
    least = v;
    best.push_back(i);
  }
  return best;
}

std::string Table::text(bool colour) const {
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t w = count_code_points(columns_[c].title);
    const std::size_t mark = columns_[c].best == Best::kNone ? 0 : 1;
    for (const auto& row : rows_) w = std::max(w, count_code_points(shown(row[c].text)) + mark);
    width.push_back(w);
  }
  std::string out;
  const auto put = [&](std::size_t c, const std::string& s, const std::string& tail, bool bold) {
    const std::size_t pad = width[c] - std::min(width[c], count_code_points(s) + count_code_points(tail));
    if (c > 0) out += "  ";
    if (columns_[c].right) out.append(pad, ' ');
    if (bold && colour) out += "\x1b[1;32m";
    out += s + tail;
    if (bold && colour) out += "\x1b[0m";
    if (!columns_[c].right && c + 1 < columns_.size()) out.append(pad, ' ');
  };
  for (std::size_t c = 0; c < columns_.size(); ++c) put(c, columns_[c].title, "", false);
  out += '\n';
  std::vector<std::vector<std::size_t>> best;
  for (std::size_t c = 0; c < columns_.size(); ++c) best.push_back(best_rows(c));
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool marked = std::find(best[c].begin(), best[c].end(), r) != best[c].end();
      const bool room = columns_[c].best != Best::kNone;
      put(c, shown(rows_[r][c].text), marked ? "*" : room ? " " : "", marked);
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

std::string Table::csv() const {
  std::string out;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) out += ',';
    append_csv(out, columns_[c].title);
  }
  out += '\n';
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) out += ',';
      append_csv(out, row[c].text);
    }
    out += '\n';
  }
  return out;
}

}  // namespace comity
