// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "report/chart.h"
#include "report/well_formed.h"

namespace comity::report {
namespace {

const std::string kHostile = "</script><b onclick='x'>\"&amp;";

std::string body_of(const std::string& html) {
  const std::size_t begin = html.find("<body>");
  return html.substr(begin, html.find("</html>") - begin);
}

TEST(Escape, ByHand) {
  EXPECT_EQ(escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escape("größe ∞ 🙂\n"), "größe ∞ 🙂\n");
  EXPECT_EQ(escape(std::string_view("a\0b\x07", 4)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(escape("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");              // overlong
  EXPECT_EQ(escape("\xED\xA0\x80").size(), 9U);                           // a surrogate: three bytes, each replaced
  EXPECT_EQ(escape("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");              // cut off
  EXPECT_EQ(escape("\xF4\x90\x80\x80").find('\xF4'), std::string::npos);  // beyond the last code point
}

TEST(Page, EscapesEverythingItIsGiven) {
  Table table({{kHostile, false, Table::Best::kNone}, {"n", true, Table::Best::kLowest}});
  table.add_row({{kHostile}, {"1", 1}});
  table.add_row({{"b"}, {"2", 2}});
  Page page(kHostile, kHostile);
  page.section(kHostile).heading(kHostile).paragraph(kHostile).note(kHostile).bullets({kHostile});
  page.section("b").section("c");
  page.figures({{kHostile, kHostile}}).table(table, kHostile).code(kHostile).data("{\"k\":\"</script><!--\"}");
  const std::string html = page.html();
  EXPECT_EQ(html.find("<b onclick"), std::string::npos);
  EXPECT_EQ(html.find("</script>"), html.rfind("</script>"));
  EXPECT_NE(html.find("{\"k\":\"\\u003c/script>\\u003c!--\"}"), std::string::npos);
  EXPECT_EQ(WellFormed::fault(body_of(html)), "");
}

TEST(Page, MarksTheBestOfAColumn) {
  Table table({{"policy", false, Table::Best::kNone}, {"wait", true, Table::Best::kLowest}});
  table.add_row({{"fifo"}, {"9", 9}});
  table.add_row({{"easy"}, {"4", 4}});
  const std::string html = Page("t").table(table).html();
  EXPECT_NE(html.find("<td class=\"right best\">4 *</td>"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"right\">9</td>"), std::string::npos);
}

TEST(Page, AsksNobodyForAnything) {
  const std::string figure = draw(LineChart{"t", "d", {}, {}, {{"a", {0, 1}, {0, 1}}}});
  const std::string html = Page("t", "s").section("a").chart(figure).chart(figure, true).html();
  for (const char* word : {"http", "src=", "@import", "url(", "<script"}) {
    EXPECT_EQ(html.find(word), std::string::npos) << word;
  }
}

TEST(Page, HalfChartsShareARow) {
  const std::string html = Page("t").chart("<p/>", true).chart("<p/>", true).paragraph("x").chart("<p/>", true).html();
  EXPECT_NE(html.find("<div class=\"row\">\n<p/><p/></div>"), std::string::npos);
  EXPECT_EQ(WellFormed::fault(body_of(html)), "");
}

TEST(Page, ContentsAppearFromThreeSectionsOn) {
  EXPECT_EQ(Page("t").section("a").section("b").html().find("<nav"), std::string::npos);
  EXPECT_NE(Page("t").section("a").section("b").section("c").html().find("<a href=\"#s3\">c</a>"), std::string::npos);
}

}  // namespace
}  // namespace comity::report
