// SPDX-License-Identifier: Apache-2.0
// vixen eval: a policy on bars it has not seen, beside benchmarks.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/config_flags.h"
#include "proto/config/settings.h"
#include "tool/command.h"
#include "tool/eval/curves.h"
#include "tool/eval/evaluator.h"
#include "tool/eval/policy_inputs.h"
#include "tool/eval/summary_text.h"
#include "tool/eval/trades_csv.h"

namespace vixen::tool {
namespace {

struct EvalFlags {
  std::string data;
  std::vector<std::string> weights;
  std::string range;
  std::string out;
  std::string trades;
  std::string series;
  std::string calendar = "24x7";
  double risk_free = 0;
  uint64_t folds = 0;
  double epsilon = 0;
  uint64_t seed = 1;
  uint64_t seeds = 1;
  std::vector<double> cost_scales = {1, 2, 4};
  std::vector<uint64_t> moving_average = {50, 200};
  uint64_t resamples = 1'000;
  double block_length = 0;
  bool json = false;
  v1::EnvironmentSettings environment;
  std::unique_ptr<config::ConfigFlags> config;
  CLI::Option* preset = nullptr;
};

absl::Status CheckFlags(const EvalFlags& flags) {
  const auto refuse = [](const auto&... what) { return base::UsageError(base::StrCat(what...)); };
  if (!(flags.risk_free > -1 && flags.risk_free < 10)) {
    return refuse("--risk_free ", flags.risk_free,
                  ": a share a year, such as 0.03; above -1 and below 10");
  }
  if (!(flags.epsilon >= 0 && flags.epsilon <= 1)) {
    return refuse("--epsilon ", flags.epsilon, ": a share of random actions, 0 to 1");
  }
  if (flags.seeds < 1 || flags.seeds > 1'000) {
    return refuse("--seeds ", flags.seeds, ": 1 to 1000 runs");
  }
  if (flags.folds > 1'000) return refuse("--folds ", flags.folds, ": at most 1000");
  if (flags.weights.size() > 1 && flags.weights.size() != flags.folds) {
    return refuse("--weights was given ", flags.weights.size(), " times, --folds is ", flags.folds,
                  ": give one file a fold, in order of time, or one for all");
  }
  for (const double scale : flags.cost_scales) {
    if (!(scale >= 0 && scale <= 100)) {
      return refuse("--cost_scales ", scale, ": factors from 0 to 100, such as 1,2,4");
    }
  }
  const auto& average = flags.moving_average;
  if (average.size() != 2 || average[0] < 1 || average[0] >= average[1] || average[1] > 1'000'000) {
    return refuse("--moving_average ", absl::StrJoin(average, ","),
                  ": two numbers of bars, the shorter first, such as 50,200");
  }
  if (flags.resamples > 100'000) {
    return refuse("--resamples ", flags.resamples, ": at most 100000; 0 for no intervals");
  }
  if (!(flags.block_length == 0 || (flags.block_length >= 1 && flags.block_length <= 1e9))) {
    return refuse("--block_length ", flags.block_length, ": a mean number of steps, at least 1");
  }
  return absl::OkStatus();
}

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

// Why bars begin to end are no fair test of the policy by what its file says; empty: it says
// nothing of the kind. `weights` begins the sentence ("The weights were"), `bars` names the bars.
std::string TrainingWarning(const PolicyInputs& inputs, market::BarRange range,
                            const std::string& weights, const std::string& bars) {
  const std::optional<std::string> trained_on = TrainedOn(inputs);
  const std::optional<uint64_t> trained_to = TrainedTo(inputs);
  const TrainedWhere where =
      WhereTrained(trained_on, trained_to, base::ToHex(inputs.dataset->fingerprint()), range.begin);
  if (where == TrainedWhere::kBefore) return "";
  if (where == TrainedWhere::kElsewhere) {
    return base::StrCat(weights, " trained on another dataset (fingerprint ",
                        trained_on->substr(0, 12), "…): whether the bars of ", bars,
                        " were among its training rows cannot be told from here.");
  }
  const uint64_t trained_from = inputs.trained_under->begin();
  const std::string trained = base::StrCat(weights, " trained on bars ", trained_from, " to ",
                                           *trained_to, " of this dataset, and ", bars);
  if (trained_from >= range.end) {
    return base::StrCat(trained, " ends at bar ", range.end,
                        ": the policy has seen what came after these bars.");
  }
  return base::StrCat(trained, " begins at bar ", range.begin, ": the policy has seen these bars.");
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
  std::string warning;
  // NameFolds looks at a policy a fold.
  if (flags.weights.size() == 1) {
    warning = TrainingWarning(inputs, range, "The weights were", "the range");
  }
  if (!warning.empty()) {
    warnings.push_back(std::move(warning));
  } else if (!dataset.train_rows()) {
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

// The policies of the folds after the first, which `first` holds.
absl::StatusOr<std::vector<PolicyInputs>> LoadFoldInputs(const EvalFlags& flags,
                                                         const PolicyInputs& first,
                                                         std::vector<std::string>& warnings) {
  std::vector<PolicyInputs> inputs = {first};
  if (flags.weights.size() == 1) return inputs;
  const auto settings_of = [](const PolicyInputs& one) {
    v1::EnvironmentSettings settings = one.trained_under.value_or(v1::EnvironmentSettings());
    settings.clear_begin();
    settings.clear_end();
    return config::SettingsBytes(settings);
  };
  for (size_t i = 1; i < flags.weights.size(); ++i) {
    VIXEN_ASSIGN_OR_RETURN(PolicyInputs more,
                           LoadPolicyInputs(flags.data, flags.weights[i], first.dataset));
    if (settings_of(more) != settings_of(first)) {
      warnings.push_back(base::StrCat(flags.weights[i], " was trained under other settings than ",
                                      flags.weights[0],
                                      "; costs and rules here are the latter's."));
    }
    inputs.push_back(std::move(more));
  }
  return inputs;
}

// Where each fold's policy comes from, and whether it can have seen the fold.
void NameFolds(const EvalFlags& flags, const std::vector<PolicyInputs>& inputs,
               Evaluation& evaluation, std::vector<std::string>& warnings) {
  for (size_t i = 0; i < evaluation.folds.size(); ++i) {
    EvaluationFold& fold = evaluation.folds[i];
    const size_t own = inputs.size() == 1 ? 0 : i;
    fold.weights = flags.weights[own];
    fold.online_version = inputs[own].weights.online_version;
    fold.trained_on = TrainedOn(inputs[own]);
    fold.trained_to = TrainedTo(inputs[own]);
    if (inputs.size() == 1) continue;
    std::string warning =
        TrainingWarning(inputs[own], {fold.begin, fold.end}, base::StrCat(fold.weights, " was"),
                        base::StrCat("fold ", i + 1));
    if (!warning.empty()) warnings.push_back(std::move(warning));
  }
}

EvaluatorOptions OptionsOf(const EvalFlags& flags, const std::vector<PolicyInputs>& inputs,
                           market::BarRange range, Calendar calendar) {
  EvaluatorOptions options;
  options.dataset = inputs[0].dataset;
  options.range = range;
  options.weights = inputs[0].weights;
  options.folds = flags.folds;
  if (inputs.size() > 1) {
    for (const PolicyInputs& one : inputs) options.fold_weights.push_back(one.weights);
  }
  options.settings = config::ToEnvSettings(flags.environment);
  options.calendar = calendar;
  options.risk_free = flags.risk_free;
  options.epsilon = static_cast<float>(flags.epsilon);
  options.seed = flags.seed;
  options.seeds = flags.seeds;
  options.cost_scales = flags.cost_scales;
  options.moving_average = {flags.moving_average[0], flags.moving_average[1]};
  options.bootstrap = {
      .resamples = flags.resamples, .seed = flags.seed, .block_length = flags.block_length};
  return options;
}

// The file for the report comes last: it keeps some of the steps only.
absl::Status WriteFiles(const EvalFlags& flags, Evaluation& evaluation) {
  if (!flags.trades.empty()) {
    VIXEN_RETURN_IF_ERROR(base::WriteFileAtomically(flags.trades, TradesCsv(evaluation)));
  }
  if (!flags.series.empty()) VIXEN_RETURN_IF_ERROR(WriteSeries(evaluation, flags.series));
  if (flags.out.empty()) return absl::OkStatus();
  Compact(evaluation);
  return base::WriteFileAtomically(flags.out, EvaluationToJson(evaluation));
}

absl::Status RunEval(EvalFlags& flags) {
  VIXEN_ASSIGN_OR_RETURN(const Calendar calendar, ParseCalendar(flags.calendar));
  VIXEN_RETURN_IF_ERROR(CheckFlags(flags));
  VIXEN_ASSIGN_OR_RETURN(const PolicyInputs first, LoadPolicyInputs(flags.data, flags.weights[0]));
  VIXEN_ASSIGN_OR_RETURN(const std::string origin, ChooseSettings(first, flags));
  std::vector<std::string> warnings = first.warnings;
  VIXEN_ASSIGN_OR_RETURN(const market::BarRange range, ChooseRange(first, flags, warnings));
  VIXEN_ASSIGN_OR_RETURN(const std::vector<PolicyInputs> inputs,
                         LoadFoldInputs(flags, first, warnings));
  if (!first.trained_under && flags.config->origins().empty()) {
    warnings.push_back(
        "The weights do not say under which settings they were trained: costs and rules here are "
        "the defaults.");
  }
  if (flags.seeds > 1 && flags.epsilon == 0) {
    warnings.push_back(
        "The greedy policy does the same under every seed: one run stands for all (--epsilon 0.05 "
        "lets seeds differ).");
  }
  VIXEN_ASSIGN_OR_RETURN(Evaluation evaluation,
                         Evaluate(OptionsOf(flags, inputs, range, calendar)));
  NameFolds(flags, inputs, evaluation, warnings);
  const std::string device = evaluation.identity.device;
  const std::string precision = evaluation.identity.precision;
  evaluation.identity = IdentityOf(first, flags.data, absl::StrJoin(flags.weights, ", "));
  evaluation.identity.device = device;
  evaluation.identity.precision = precision;
  evaluation.settings = SettingTexts(flags.environment);
  evaluation.settings_origin = origin;
  evaluation.warnings.insert(evaluation.warnings.begin(), warnings.begin(), warnings.end());

  VIXEN_RETURN_IF_ERROR(WriteFiles(flags, evaluation));
  if (flags.json) {
    std::cout << EvaluationToJson(evaluation, /*summary_only=*/true);
    return absl::OkStatus();
  }
  std::cout << SummaryText(evaluation);
  if (!flags.out.empty()) std::cout << "Evaluation: " << flags.out << "\n";
  if (!flags.trades.empty()) std::cout << "Trades: " << flags.trades << "\n";
  if (!flags.series.empty()) std::cout << "Series: " << flags.series << "\n";
  return absl::OkStatus();
}

void AddMethodOptions(CLI::App& command, EvalFlags& flags) {
  command.add_option("--folds", flags.folds,
                     "walk forward: so many stretches of equally many steps, each by itself");
  command.add_option("--epsilon", flags.epsilon, "share of random actions; 0 is greedy");
  command.add_option("--seeds", flags.seeds,
                     "runs of an epsilon policy, each with its own numbers");
  command.add_option("--seed", flags.seed, "of the first run and of the intervals");
  command
      .add_option("--cost_scales", flags.cost_scales,
                  "fees, spread and borrowing times these, each run again; default 1,2,4")
      ->delimiter(',');
  command
      .add_option("--moving_average", flags.moving_average,
                  "bars of the two means of the benchmark rule; default 50,200")
      ->delimiter(',');
  command.add_option("--resamples", flags.resamples,
                     "of the block bootstrap that gives the intervals; 0: none");
  command.add_option("--block_length", flags.block_length,
                     "mean steps of a block; default by the rule of Politis and White");
}

}  // namespace

void AddEval(CLI::App& app, Selected& selected) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app.add_subcommand(
      "eval", "a policy on bars it has not seen, beside buy-and-hold, flat, a rule and chance");
  command->add_option("--data", flags->data, "dataset file")->required();
  command
      ->add_option("--weights", flags->weights,
                   "weights file; with --folds, one for all folds or one for each in turn")
      ->required();
  command->add_option("--range", flags->range,
                      "bars A:B; default: the rows after the training rows, else all");
  command->add_option("--out", flags->out, "evaluation file for vixen report");
  command->add_option("--trades", flags->trades, "CSV file of the trades");
  command->add_option("--series", flags->series,
                      "tensor file of every step: time, close, position, exposure, curves");
  command->add_option("--calendar", flags->calendar,
                      "the year where the data span less than one: 24x7, equity, fx, futures");
  command->add_option("--risk_free", flags->risk_free, "risk-free rate a year, such as 0.03");
  command->add_flag("--json", flags->json, "the summary as JSON on stdout");
  AddMethodOptions(*command, *flags);
  command->footer(
      "Examples:\n"
      "  vixen eval --data d.safetensors --weights w.safetensors --out e.json --trades trades.csv\n"
      "  vixen eval --data d.safetensors --weights w.safetensors --folds 5 --out folds.json\n"
      "  vixen eval --data d.safetensors --weights w1.safetensors w2.safetensors --folds 2 --out "
      "e.json\n"
      "  vixen eval --data d.safetensors --weights w.safetensors --epsilon 0.05 --seeds 10 "
      "--json\n");
  flags->config = std::make_unique<config::ConfigFlags>(*command, flags->environment);
  flags->preset = command->get_option("--preset");
  command->callback([flags, &selected] { selected = [flags] { return RunEval(*flags); }; });
}

}  // namespace vixen::tool
