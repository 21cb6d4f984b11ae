// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/verify/golden_case.h"

namespace vixen::kernels {
namespace {

struct Tolerance {
  double absolute;
  double relative;
};

constexpr Tolerance kExact{1e-5, 1e-4};   // reward, terms, portfolio
constexpr Tolerance kNetwork{1e-3, 0.0};  // td, q

void Compare(std::span<const float> values, std::span<const float> expected, Tolerance tolerance,
             uint64_t slot, uint64_t step, ColumnError& error) {
  for (size_t i = 0; i < values.size(); ++i) {
    double difference = std::fabs(double{values[i]} - double{expected[i]});
    // A NaN must count as the largest error.
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    const double allowed = tolerance.absolute + tolerance.relative * std::fabs(double{expected[i]});
    error.largest = std::max(error.largest, difference);
    if (difference / allowed > error.of_allowed) {
      error.of_allowed = difference / allowed;
      error.slot = slot;
      error.step = step;
    }
  }
}

bool IsClear(const BatchView& view, size_t row) {
  const float* portfolio = view.portfolio + row * kPortfolioFeatures;
  const float* next_portfolio = view.next_portfolio + row * kPortfolioFeatures;
  const auto is_zero = [](float x) { return x == 0.0f; };
  return view.bar[row] == 0 && view.action[row] == 0 && view.flags[row] == 0 &&
         view.episode[row] == 0 && view.reward[row] == 0.0f && view.td[row] == 0.0f &&
         std::all_of(portfolio, portfolio + kPortfolioFeatures, is_zero) &&
         std::all_of(next_portfolio, next_portfolio + kPortfolioFeatures, is_zero);
}

void CompareRow(const GoldenCase& golden, const BatchView& view, size_t row, size_t expected,
                uint64_t slot, uint64_t step, GoldenResult& result) {
  const auto rows = [](const float* values, size_t at, size_t width) {
    return std::span(values + at * width, width);
  };
  result.rows += 1;
  if ((golden.flags[expected] & kFlagValid) == 0) {
    result.wrong_idle_rows += !IsClear(view, row);
    return;
  }
  result.valid_rows += 1;
  result.wrong_flags += view.flags[row] != golden.flags[expected];
  result.wrong_bars += static_cast<int64_t>(view.bar[row]) != golden.bar[expected];
  result.wrong_actions += view.action[row] != golden.action[expected];
  Compare(rows(view.reward, row, 1), golden.reward.subspan(expected, 1), kExact, slot, step,
          result.reward);
  Compare(rows(view.td, row, 1), golden.td.subspan(expected, 1), kNetwork, slot, step, result.td);
  constexpr size_t kWidth = kPortfolioFeatures;
  Compare(rows(view.portfolio, row, kWidth), golden.portfolio.subspan(expected * kWidth, kWidth),
          kExact, slot, step, result.portfolio);
  Compare(rows(view.next_portfolio, row, kWidth),
          golden.next_portfolio.subspan(expected * kWidth, kWidth), kExact, slot, step,
          result.portfolio);
  if (!golden.q.empty()) {
    Compare(rows(view.q, row, kActions), golden.q.subspan(expected * kActions, kActions), kNetwork,
            slot, step, result.q);
  }
  if (!golden.terms.empty()) {
    Compare(rows(view.terms, row, kRewardTerms),
            golden.terms.subspan(expected * kRewardTerms, kRewardTerms), kExact, slot, step,
            result.terms);
  }
}

absl::Status LoadWeights(const GoldenCase& golden, Collector& collector) {
  for (const Parameters* parameters : {&golden.online, &golden.target, &golden.curiosity}) {
    if (parameters->values.empty()) continue;
    VIXEN_RETURN_IF_ERROR(collector.StageWeights(*parameters).status());
    collector.CommitWeights(parameters->kind);
  }
  return absl::OkStatus();
}

std::string DescribeError(const char* name, const ColumnError& error) {
  char text[64];
  std::snprintf(text, sizeof text, "%s %.1e", name, error.largest);
  std::string description = text;
  if (error.of_allowed > 1.0) {
    std::snprintf(text, sizeof text, " (%.1f times the tolerance)", error.of_allowed);
    description += base::StrCat(text, " at slot ", error.slot, ", step ", error.step);
  }
  return description;
}

}  // namespace

bool GoldenResult::passed() const {
  const double worst = std::max(
      {reward.of_allowed, portfolio.of_allowed, td.of_allowed, q.of_allowed, terms.of_allowed});
  return wrong_actions == 0 && wrong_flags == 0 && wrong_bars == 0 && wrong_idle_rows == 0 &&
         worst <= 1.0;
}

std::string GoldenResult::Describe() const {
  return base::StrCat(valid_rows, " rows; largest errors: ", DescribeError("reward", reward), ", ",
                      DescribeError("portfolio", portfolio), ", ", DescribeError("td", td), ", ",
                      DescribeError("q", q), ", ", DescribeError("terms", terms),
                      "; wrong: ", wrong_actions, " actions, ", wrong_flags, " flags, ", wrong_bars,
                      " bars, ", wrong_idle_rows, " idle rows");
}

absl::StatusOr<GoldenResult> RunGoldenCase(const GoldenCase& golden,
                                           const CollectorFactory& factory) {
  VIXEN_ASSIGN_OR_RETURN(const std::unique_ptr<Collector> collector, factory(golden.options));
  VIXEN_RETURN_IF_ERROR(LoadWeights(golden, *collector));
  const uint64_t slots = golden.options.episodes;
  const uint64_t steps = golden.options.steps;
  GoldenResult result;
  Batch batch(golden.options.episodes, golden.options.steps, true, true);
  for (uint32_t launch = 0; launch < golden.launches; ++launch) {
    LaunchRequest request;
    request.launch = launch;
    request.epsilon = golden.epsilon;
    if (launch == 0) {
      request.inputs.rng = golden.rng;
      request.inputs.starts = golden.starts;
    }
    VIXEN_RETURN_IF_ERROR(collector->Launch(request, batch));
    VIXEN_RETURN_IF_ERROR(collector->Wait(batch));
    const BatchView view = batch.view();
    for (uint64_t slot = 0; slot < slots; ++slot) {
      for (uint64_t step = 0; step < steps; ++step) {
        const uint64_t place = launch * steps + step;
        CompareRow(golden, view, slot * steps + step, slot * steps * golden.launches + place, slot,
                   place, result);
      }
    }
  }
  return result;
}

}  // namespace vixen::kernels
