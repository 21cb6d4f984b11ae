// SPDX-License-Identifier: Apache-2.0
// vixen report: evaluations as one HTML page.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "tool/command.h"
#include "tool/format.h"
#include "tool/report/page.h"

namespace vixen::tool {
namespace {

struct ReportFlags {
  std::vector<std::string> evaluations;
  std::string training;
  std::string out;
};

absl::Status RunReport(const ReportFlags& flags) {
  std::vector<Evaluation> evaluations;
  for (const std::string& path : flags.evaluations) {
    VIXEN_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
    VIXEN_ASSIGN_OR_RETURN(Evaluation evaluation, ParseEvaluation(text, path));
    evaluations.push_back(std::move(evaluation));
  }
  std::optional<TrainingLog> training;
  if (!flags.training.empty()) {
    VIXEN_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(flags.training));
    VIXEN_ASSIGN_OR_RETURN(training, ParseTrainingLog(text, flags.training));
  }
  const std::string page = RenderReport(evaluations, training);
  VIXEN_RETURN_IF_ERROR(base::WriteFileAtomically(flags.out, page));
  std::cout << base::StrCat("Report: ", flags.out, " (", Bytes(page.size()), ")\n");
  return absl::OkStatus();
}

}  // namespace

void AddReport(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command =
      app.add_subcommand("report", "evaluations as one self-contained HTML page with charts");
  command->add_option("evaluations", flags->evaluations, "files of vixen eval")->required();
  command->add_option("--training", flags->training, "a learner's training.jsonl");
  command->add_option("--out", flags->out, "HTML file to write")->required();
  command->callback([flags, &selected] { selected = [flags] { return RunReport(*flags); }; });
}

}  // namespace vixen::tool
