// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/evaluation_check.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vixen::tool {
namespace {

absl::Status CheckSeries(const Evaluation& evaluation) {
  const EvaluationSeries& series = evaluation.series;
  const size_t n = series.time.size();
  if (n == 0) return absl::InvalidArgumentError("series.time is empty");
  const std::pair<const char*, size_t> columns[] = {
      {"series.step", series.step.empty() ? n : series.step.size()},
      {"series.close", series.close.size()},
      {"series.position", series.position.size()},
      {"series.exposure", series.exposure.size()},
      {"series.equity", series.equity.size()},
      {"series.buy_and_hold", series.buy_and_hold.size()},
      {"series.moving_average", series.moving_average.size()},
      {"rolling_sharpe.policy",
       evaluation.rolling.window == 0 ? n : evaluation.rolling.policy.size()},
      {"rolling_sharpe.buy_and_hold",
       evaluation.rolling.window == 0 ? n : evaluation.rolling.buy_and_hold.size()}};
  for (const auto& [name, size] : columns) {
    if (size == n) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", size, " values, series.time has ", n));
  }
  for (const Bins* bins : {&evaluation.return_bins, &evaluation.trade_bins}) {
    if (bins->below_zero.size() == bins->middle.size() &&
        bins->others.size() == bins->middle.size()) {
      continue;
    }
    return absl::InvalidArgumentError("bins differ in length");
  }
  const uint64_t steps = evaluation.steps();
  const auto& step = series.step;
  if (step.empty() ? n != steps
                   : step.back() >= steps ||
                         !std::is_sorted(step.begin(), step.end(), std::less_equal<>())) {
    return absl::InvalidArgumentError(
        absl::StrCat("parts hold ", steps, " steps, the series has ", n, " entries",
                     step.empty() ? "" : " whose steps do not rise below that"));
  }
  return absl::OkStatus();
}

absl::Status CheckParts(const Evaluation& evaluation) {
  uint64_t step = 0;
  for (const EvaluationPart& part : evaluation.parts) {
    if (part.first_step != step || part.steps == 0 || part.steps > UINT64_MAX - step) {
      return absl::InvalidArgumentError(
          absl::StrCat("parts do not cover the steps one after another at step ", step));
    }
    step += part.steps;
  }
  for (const Trade& trade : evaluation.trades) {
    if (trade.entry_step > trade.exit_step || trade.exit_step >= evaluation.steps()) {
      return absl::InvalidArgumentError(absl::StrCat("trades: steps ", trade.entry_step, " to ",
                                                     trade.exit_step, " are outside the series"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckEvaluation(const Evaluation& evaluation) {
  VIXEN_RETURN_IF_ERROR(CheckParts(evaluation));
  return CheckSeries(evaluation);
}

}  // namespace vixen::tool
