// SPDX-License-Identifier: Apache-2.0
#include "tool/report/whisker_chart.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr int kRowHeight = 30;
constexpr int kWide = 1040;
constexpr int kNarrow = 380;

std::string Num(double value) { return absl::StrFormat("%.1f", value); }

std::string Render(const std::string& title, const std::vector<Whisker>& rows, AxisFormat format,
                   int width) {
  const bool narrow = width == kNarrow;
  double low = 0, high = 0;
  for (const Whisker& row : rows) {
    low = std::min({low, row.low, row.value.value_or(0)});
    high = std::max({high, row.high, row.value.value_or(0)});
  }
  const double pad = high > low ? (high - low) * 0.04 : 1;
  low -= pad;
  high += pad;
  const double left = narrow ? 120 : 210;
  const double right = width - 10.0;
  const double bottom = 8.0 + kRowHeight * static_cast<double>(rows.size());
  const auto at = [&](double value) {
    return left + (value - low) / (high - low) * (right - left);
  };
  std::string svg =
      absl::StrCat("<svg class=\"", narrow ? "narrow" : "wide",
                   "\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width, " ",
                   Num(bottom + 26), "\" role=\"img\" aria-label=\"", EscapeMarkup(title), "\">");
  for (const Tick& tick : LinearTicks(low, high, narrow ? 4 : 8, format)) {
    absl::StrAppend(&svg, "<line class=\"grid\" x1=\"", Num(at(tick.value)), "\" x2=\"",
                    Num(at(tick.value)), "\" y1=\"4\" y2=\"", Num(bottom), "\"/>");
    absl::StrAppend(&svg, "<text class=\"tick\" text-anchor=\"middle\" x=\"", Num(at(tick.value)),
                    "\" y=\"", Num(bottom + 17), "\">", EscapeMarkup(tick.label), "</text>");
  }
  absl::StrAppend(&svg, "<line class=\"zero\" x1=\"", Num(at(0)), "\" x2=\"", Num(at(0)),
                  "\" y1=\"4\" y2=\"", Num(bottom), "\"/>");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Whisker& row = rows[i];
    const double y = 8 + kRowHeight * (static_cast<double>(i) + 0.5);
    absl::StrAppend(&svg, "<text class=\"legend\" x=\"4\" y=\"", Num(y + 4), "\">",
                    EscapeMarkup(row.name), "</text>");
    absl::StrAppend(&svg, "<path class=\"line whisker ", row.style, "\" d=\"M", Num(at(row.low)),
                    " ", Num(y), "H", Num(at(row.high)), "M", Num(at(row.low)), " ", Num(y - 5),
                    "v10M", Num(at(row.high)), " ", Num(y - 5), "v10\"/>");
    if (!row.value) continue;
    absl::StrAppend(&svg, "<circle class=\"mark ", row.style, "\" cx=\"", Num(at(*row.value)),
                    "\" cy=\"", Num(y), "\" r=\"5\"/>");
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string RenderWhiskers(const std::string& title, const std::vector<Whisker>& rows,
                           AxisFormat format) {
  if (rows.empty()) return "<p class=\"note\">No data for this chart.</p>\n";
  return Render(title, rows, format, kWide) + Render(title, rows, format, kNarrow);
}

}  // namespace vixen::tool
