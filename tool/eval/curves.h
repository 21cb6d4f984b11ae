// SPDX-License-Identifier: Apache-2.0
// What pictures of an evaluation need, taken while every step is at hand, and the choice of the
// steps that a file keeps of a long one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tool/eval/evaluation.h"

namespace vixen::tool {

// Above so many steps (trades) a file keeps some of them.
inline constexpr size_t kMostKeptSteps = 20'000;
inline constexpr size_t kMostKeptTrades = 1'000;

// 41 bins of equal width between the 0.5 % and 99.5 % quantiles; the outer ones hold what lies
// beyond. No bins without values.
Bins BinsOf(std::vector<double> values);

// Fills `rolling`, `return_bins` and `trade_bins` from every step and trade.
void DescribeCurves(Evaluation& evaluation);

// Keeps of a longer series about 2,000 stretches of equally many steps: of each the steps with the
// least and the largest value of every curve, rolling ratio and drawdown, and the peak that the
// least drawdown is measured from; and the steps of the random band, the first and the last.
// `exposure` becomes the mean of the step's stretch. Of more trades the last kMostKeptTrades stay.
// Metrics and bins are not touched.
void Compact(Evaluation& evaluation);

// The series of an evaluation that is not compacted as a tensor file: `time` I64 [n]; `close`,
// `position`, `exposure`, `equity`, `buy_and_hold`, `moving_average` F64 [n].
absl::Status WriteSeries(const Evaluation& evaluation, const std::string& path);

}  // namespace vixen::tool
