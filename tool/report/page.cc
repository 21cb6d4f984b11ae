// SPDX-License-Identifier: Apache-2.0
#include "tool/report/page.h"

#include "absl/strings/str_cat.h"
#include "tool/format.h"
#include "tool/report/html.h"
#include "tool/report/sections.h"
#include "tool/report/style.h"

namespace vixen::tool {
namespace {

std::string Comparison(const std::vector<Evaluation>& evaluations) {
  std::vector<Cell> header = {{""}};
  for (size_t i = 0; i < evaluations.size(); ++i) {
    header.push_back({absl::StrCat(i + 1), "", TitleOf(evaluations[i])});
  }
  Table table(header);
  for (const MetricSpec& spec : MetricSpecs()) {
    std::vector<Cell> cells = {{std::string(spec.title)}};
    for (const Evaluation& evaluation : evaluations) {
      cells.push_back(MetricCell(spec, evaluation.policy[spec.id]));
    }
    table.Row(std::move(cells));
  }
  std::string html =
      Element("h1", absl::StrCat("Comparison of ", evaluations.size(), " evaluations"));
  html += "<ol>";
  for (const Evaluation& evaluation : evaluations) {
    html += Element("li", absl::StrCat(TitleOf(evaluation), " (", evaluation.identity.weights_path,
                                       ", version ", evaluation.identity.online_version, ")"));
  }
  return html + "</ol>" + table.Html();
}

}  // namespace

std::string RenderReport(const std::vector<Evaluation>& evaluations,
                         const std::optional<TrainingLog>& training) {
  const std::string title =
      evaluations.size() == 1 ? TitleOf(evaluations[0])
                              : absl::StrCat("Comparison of ", evaluations.size(), " evaluations");
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
      EscapeMarkup(title), "</title>\n<style>", kReportStyle,
      "</style>\n</head>\n<body>\n<main>\n");
  if (evaluations.size() > 1) html += Comparison(evaluations);
  for (const Evaluation& evaluation : evaluations) {
    html += HeadSection(evaluation);
    html += CurveSection(evaluation);
    html += MetricSection(evaluation);
    html += EvidenceSection(evaluation);
    html += TradeSection(evaluation);
    html += BehaviourSection(evaluation);
    if (training && &evaluation == &evaluations.back()) html += TrainingSection(*training);
    html += ProvenanceSection(evaluation);
  }
  html += Element("footer",
                  absl::StrCat("Made by vixen ", evaluations.back().identity.software_version,
                               ". Past results on one stretch of bars say little about the next."));
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace vixen::tool
