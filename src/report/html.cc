// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/input.h"
#include "report/style.h"

namespace comity::report {
namespace {

std::string element(std::string_view name, std::string_view text) {
  return fmt::format("<{0}>{1}</{0}>\n", name, escape(text));
}

// '<' only occurs inside of JSON strings, where \u003c means the same: no "</script" or "<!--" can appear.
std::string safe_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string table_head(const Table& table) {
  std::string out = "<thead><tr>";
  for (const Table::Column& column : table.columns()) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.right ? " class=\"right\"" : "", escape(column.title));
  }
  return out + "</tr></thead>\n";
}

// best[column][row]
std::vector<std::vector<bool>> best_cells(const Table& table) {
  std::vector<std::vector<bool>> best(table.columns().size(), std::vector<bool>(table.rows().size()));
  for (std::size_t c = 0; c < best.size(); ++c) {
    if (table.columns()[c].best != Table::Best::kNone) {
      for (const std::size_t row : table.best_rows(c)) {
        best[c][row] = true;
      }
    }
  }
  return best;
}

}  // namespace

Page::Page(std::string title, std::string subtitle) : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

void Page::close_row() {
  if (in_row_) {
    body_ += "</div>\n";
    in_row_ = false;
  }
}

Page& Page::section(std::string_view heading) {
  close_row();
  sections_.emplace_back(heading);
  body_ += fmt::format("<h2 id=\"s{}\">{}</h2>\n", sections_.size(), escape(heading));
  return *this;
}

Page& Page::heading(std::string_view text) {
  close_row();
  body_ += element("h3", text);
  return *this;
}

Page& Page::paragraph(std::string_view text) {
  close_row();
  body_ += element("p", text);
  return *this;
}

Page& Page::note(std::string_view text) {
  close_row();
  body_ += "<p class=\"note\">" + escape(text) + "</p>\n";
  return *this;
}

Page& Page::bullets(const std::vector<std::string>& items) {
  close_row();
  if (!items.empty()) {
    body_ += "<ul>\n";
    for (const std::string& item : items) {
      body_ += element("li", item);
    }
    body_ += "</ul>\n";
  }
  return *this;
}

Page& Page::figures(const std::vector<std::pair<std::string, std::string>>& items) {
  close_row();
  if (!items.empty()) {
    body_ += "<dl class=\"tiles\">\n";
    for (const auto& [label, value] : items) {
      body_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(label), escape(value));
    }
    body_ += "</dl>\n";
  }
  return *this;
}

Page& Page::table(const Table& table, std::string_view caption) {
  close_row();
  const std::string name = escape(caption.empty() ? std::string_view("table") : caption);
  body_ += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n", name);
  if (!caption.empty()) {
    body_ += "<caption>" + escape(caption) + "</caption>\n";
  }
  body_ += table_head(table) + "<tbody>\n";
  const std::vector<std::vector<bool>> best = best_cells(table);
  for (std::size_t r = 0; r < table.rows().size(); ++r) {
    body_ += "<tr>";
    for (std::size_t c = 0; c < table.columns().size(); ++c) {
      const bool right = table.columns()[c].right;
      const char* classes =
          best[c][r] ? (right ? " class=\"right best\"" : " class=\"best\"") : (right ? " class=\"right\"" : "");
      const std::string text = escape(table.rows()[r][c].text);
      body_ += fmt::format("<td{}>{}{}</td>", classes, text, best[c][r] ? " *" : "");
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
  return *this;
}

Page& Page::chart(std::string_view svg, bool half) {
  if (half && !in_row_) {
    close_row();
    body_ += "<div class=\"row\">\n";
    in_row_ = true;
  } else if (!half) {
    close_row();
  }
  body_ += svg;
  return *this;
}

Page& Page::code(std::string_view text) {
  close_row();
  body_ += "<pre>" + escape(text) + "</pre>\n";
  return *this;
}

Page& Page::data(std::string_view json) {
  COMITY_CHECK(data_.empty());
  data_ = fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", safe_json(json));
  return *this;
}

std::string Page::html() const {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<link rel=\"icon\" href=\"data:,\">\n";  // else a browser asks the server for one
  out += element("title", title_);
  out.append("<style>").append(kStyle).append("</style>\n</head>\n<body>\n<header class=\"top\">\n");
  out += element("h1", title_);
  if (!subtitle_.empty()) {
    out += "<p class=\"subtitle\">" + escape(subtitle_) + "</p>\n";
  }
  if (sections_.size() > 2) {
    out += "<nav aria-label=\"Contents\"><ol>\n";
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      out += fmt::format("<li><a href=\"#s{}\">{}</a></li>\n", i + 1, escape(sections_[i]));
    }
    out += "</ol></nav>\n";
  }
  out.append("</header>\n<main>\n").append(body_).append(in_row_ ? "</div>\n" : "").append("</main>\n");
  return out.append("<footer></footer>\n").append(data_).append("</body>\n</html>\n");
}

Status Page::write(const std::string& path) const { return write_file(path, html()); }

}  // namespace comity::report
