// SPDX-License-Identifier: Apache-2.0
// vixen eval: the greedy policy on bars it has not seen, beside buy-and-hold and flat.
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/config_flags.h"
#include "proto/config/settings.h"
#include "tool/command.h"
#include "tool/eval/evaluator.h"
#include "tool/eval/policy_inputs.h"
#include "tool/eval/summary_text.h"

namespace vixen::tool {
namespace {

struct EvalFlags {
  std::string data;
  std::string weights;
  std::string range;
  std::string out;
  std::string calendar = "24x7";
  double risk_free = 0;
  bool json = false;
  v1::EnvironmentSettings environment;
  std::unique_ptr<config::ConfigFlags> config;
  CLI::Option* preset = nullptr;
};

// The weights' own settings below what the command line says; words for the report.
absl::StatusOr<std::string> ChooseSettings(const PolicyInputs& inputs, EvalFlags& flags) {
  std::string origin = "defaults: the weights do not say what they were trained under";
  if (inputs.trained_under && flags.preset->count() == 0) {
    flags.environment = *inputs.trained_under;
    origin = "those that the policy was trained under";
  }
  VIXEN_RETURN_IF_ERROR(flags.config->Apply());
  if (flags.config->origins().empty()) return origin;
  std::vector<std::string> changed;
  for (const auto& [name, where] : flags.config->origins()) changed.push_back(name);
  return base::StrCat(origin, "; given here: ", absl::StrJoin(changed, ", "));
}

absl::StatusOr<market::BarRange> ChooseRange(const PolicyInputs& inputs, const EvalFlags& flags,
                                             std::vector<std::string>& warnings) {
  const market::Dataset& dataset = *inputs.dataset;
  market::BarRange range{0, dataset.bars()};
  if (!flags.range.empty()) {
    VIXEN_ASSIGN_OR_RETURN(range, ParseBarRange(flags.range, dataset.bars()));
  } else if (dataset.train_rows()) {
    range.begin = *dataset.train_rows();
  }
  VIXEN_ASSIGN_OR_RETURN(range, dataset.EffectiveRange(range.begin, range.end));
  if (!dataset.train_rows()) {
    warnings.push_back(
        "The dataset has no split by time: these bars may be those that the policy was trained on "
        "(vixen import --split 0.8).");
  } else if (range.begin < *dataset.train_rows()) {
    warnings.push_back(base::StrCat("The range begins at bar ", range.begin,
                                    ", inside the training rows 0 to ", *dataset.train_rows(),
                                    ": the policy has seen these bars."));
  }
  return range;
}

absl::Status RunEval(EvalFlags& flags) {
  VIXEN_ASSIGN_OR_RETURN(const Calendar calendar, ParseCalendar(flags.calendar));
  if (!(flags.risk_free > -1 && flags.risk_free < 10)) {
    return base::UsageError(base::StrCat("--risk_free ", flags.risk_free,
                                         ": a share a year, such as 0.03; above -1 and below 10"));
  }
  VIXEN_ASSIGN_OR_RETURN(const PolicyInputs inputs, LoadPolicyInputs(flags.data, flags.weights));
  VIXEN_ASSIGN_OR_RETURN(const std::string origin, ChooseSettings(inputs, flags));
  std::vector<std::string> warnings = inputs.warnings;
  VIXEN_ASSIGN_OR_RETURN(const market::BarRange range, ChooseRange(inputs, flags, warnings));
  if (!inputs.trained_under && flags.config->origins().empty()) {
    warnings.push_back(
        "The weights do not say under which settings they were trained: costs and rules here are "
        "the "
        "defaults.");
  }

  EvaluatorOptions options;
  options.dataset = inputs.dataset;
  options.range = range;
  options.weights = inputs.weights;
  options.settings = config::ToEnvSettings(flags.environment);
  options.calendar = calendar;
  options.risk_free = flags.risk_free;
  VIXEN_ASSIGN_OR_RETURN(Evaluation evaluation, Evaluate(options));
  const std::string device = evaluation.identity.device;
  const std::string precision = evaluation.identity.precision;
  evaluation.identity = IdentityOf(inputs, flags.data, flags.weights);
  evaluation.identity.device = device;
  evaluation.identity.precision = precision;
  evaluation.settings = SettingTexts(flags.environment);
  evaluation.settings_origin = origin;
  evaluation.warnings.insert(evaluation.warnings.begin(), warnings.begin(), warnings.end());

  if (!flags.out.empty()) {
    VIXEN_RETURN_IF_ERROR(base::WriteFileAtomically(flags.out, EvaluationToJson(evaluation)));
  }
  if (flags.json) {
    std::cout << EvaluationToJson(evaluation, /*summary_only=*/true);
    return absl::OkStatus();
  }
  std::cout << SummaryText(evaluation);
  if (!flags.out.empty()) std::cout << "Evaluation: " << flags.out << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddEval(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app.add_subcommand(
      "eval", "the greedy policy on bars it has not seen, beside buy-and-hold and flat");
  command->add_option("--data", flags->data, "dataset file")->required();
  command->add_option("--weights", flags->weights, "weights file")->required();
  command->add_option("--range", flags->range,
                      "bars A:B; default: the rows after the training rows, else all");
  command->add_option("--out", flags->out, "evaluation file for vixen report");
  command->add_option("--calendar", flags->calendar,
                      "the year where the data span less than one: 24x7, equity, fx, futures");
  command->add_option("--risk_free", flags->risk_free, "risk-free rate a year, such as 0.03");
  command->add_flag("--json", flags->json, "the summary as JSON on stdout");
  flags->config = std::make_unique<config::ConfigFlags>(*command, flags->environment);
  flags->preset = command->get_option("--preset");
  command->callback([flags, &selected] { selected = [flags] { return RunEval(*flags); }; });
}

}  // namespace vixen::tool
