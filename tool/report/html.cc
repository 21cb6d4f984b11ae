// SPDX-License-Identifier: Apache-2.0
#include "tool/report/html.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tool/format.h"
#include "tool/metric_text.h"

namespace vixen::tool {
namespace {

void AppendCell(const Cell& cell, const char* tag, std::string& html) {
  absl::StrAppend(&html, "<", tag);
  const std::string style = cell.bar >= 0 ? "bar" : cell.style;
  if (!style.empty()) absl::StrAppend(&html, " class=\"", style, "\"");
  if (!cell.title.empty()) absl::StrAppend(&html, " title=\"", EscapeMarkup(cell.title), "\"");
  absl::StrAppend(&html, ">");
  if (cell.bar >= 0) {
    absl::StrAppendFormat(&html, "<i style=\"width:%.2f%%\"></i>", std::min(cell.bar, 1.0) * 100);
  } else {
    html += EscapeMarkup(cell.text);
  }
  absl::StrAppend(&html, "</", tag, ">");
}

}  // namespace

std::string Table::Html() const {
  std::string html = "<div class=\"scroll\">";
  html += style_.empty() ? "<table>" : absl::StrCat("<table class=\"", style_, "\">");
  if (!header_.empty()) {
    html += "<thead><tr>";
    for (const Cell& cell : header_) AppendCell(cell, "th", html);
    html += "</tr></thead>";
  }
  html += "<tbody>";
  for (const auto& row : rows_) {
    html += "<tr>";
    for (const Cell& cell : row) AppendCell(cell, "td", html);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string Element(std::string_view tag, std::string_view text, std::string_view style) {
  const std::string name(tag);
  const std::string attribute =
      style.empty() ? "" : absl::StrCat(" class=\"", std::string(style), "\"");
  return absl::StrCat("<", name, attribute, ">", EscapeMarkup(text), "</", name, ">\n");
}

Cell MetricCell(const MetricSpec& spec, const Metric& metric) {
  return {.text = MetricText(spec, metric),
          .style = metric.value ? "" : "none",
          .title = metric.reason};
}

}  // namespace vixen::tool
