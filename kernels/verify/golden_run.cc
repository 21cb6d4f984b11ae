// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/verify/barrier_tie.h"
#include "kernels/verify/golden_case.h"

namespace vixen::kernels {
namespace {

struct Tolerance {
  double absolute;
  double relative;
};

constexpr Tolerance kExact{1e-5, 1e-4};   // reward, terms, portfolio
constexpr Tolerance kNetwork{1e-3, 0.0};  // td, q

// Where a slot's rows stand with the barrier ties before them.
enum class AfterTie : uint8_t { kNo, kSameEpisode, kDiverged };

// One row of the case beside one of the batch.
struct RowPair {
  const GoldenCase& golden;
  const BatchView& view;
  size_t row;       // in the batch
  size_t expected;  // in the case
  uint64_t slot;
  uint64_t step;  // over all launches
};

// `slack` widens the tolerance by what a tied barrier's term accounts for.
void Compare(const float* values, std::span<const float> expected_values, size_t width,
             Tolerance tolerance, double slack, const RowPair& pair, ColumnError& error) {
  if (expected_values.empty()) return;
  const float* actual = values + pair.row * width;
  const float* expected = expected_values.data() + pair.expected * width;
  for (size_t i = 0; i < width; ++i) {
    double difference = std::fabs(double{actual[i]} - double{expected[i]});
    double of_allowed = std::max(0.0, difference - slack) /
                        (tolerance.absolute + tolerance.relative * std::fabs(double{expected[i]}));
    // A NaN on either side must count as the largest error.
    if (std::isnan(difference)) {
      difference = std::numeric_limits<double>::infinity();
      of_allowed = difference;
    }
    error.largest = std::max(error.largest, difference);
    if (of_allowed > error.of_allowed) {
      error.of_allowed = of_allowed;
      error.slot = pair.slot;
      error.step = pair.step;
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

// True when the row differs by nothing but a barrier tie, or follows one in its episode.
bool IsExcused(const RowPair& pair, AfterTie& after, GoldenResult& result) {
  constexpr int kBarrierBits = 3 << kBarrierShift;
  constexpr int kMayDiffer = kBarrierBits | kFlagTerminated | kFlagTruncated;
  const uint8_t actual = pair.view.flags[pair.row];
  const uint8_t expected = pair.golden.flags[pair.expected];
  if (pair.golden.terms.empty() || ((actual ^ expected) & ~kMayDiffer) != 0) return false;
  const bool same_end = ((actual ^ expected) & ~kBarrierBits) == 0;
  if (after == AfterTie::kSameEpisode) return same_end;
  if (!IsBarrierTie(pair.golden, pair.slot, pair.step, BarrierOf(actual), BarrierOf(expected))) {
    return false;
  }
  result.barrier_ties += 1;
  after = same_end ? AfterTie::kSameEpisode : AfterTie::kDiverged;
  return true;
}

void CompareFloats(const RowPair& pair, double slack, GoldenResult& result) {
  const GoldenCase& golden = pair.golden;
  const BatchView& view = pair.view;
  Compare(view.reward, golden.reward, 1, kExact, slack, pair, result.reward);
  Compare(view.td, golden.td, 1, kNetwork, slack, pair, result.td);
  Compare(view.portfolio, golden.portfolio, kPortfolioFeatures, kExact, 0, pair, result.portfolio);
  Compare(view.next_portfolio, golden.next_portfolio, kPortfolioFeatures, kExact, 0, pair,
          result.portfolio);
  Compare(view.q, golden.q, kActions, kNetwork, 0, pair, result.q);
  Compare(view.terms, golden.terms, kRewardTerms, kExact, slack, pair, result.terms);
}

void CompareRow(const RowPair& pair, AfterTie& after, GoldenResult& result) {
  const GoldenCase& golden = pair.golden;
  const BatchView& view = pair.view;
  const uint8_t expected_flags = golden.flags[pair.expected];
  result.rows += 1;
  if (after == AfterTie::kDiverged) {
    result.rows_not_compared += 1;
    return;
  }
  if ((expected_flags & kFlagValid) == 0) {
    result.wrong_idle_rows += !IsClear(view, pair.row);
    return;
  }
  result.valid_rows += 1;
  if (view.flags[pair.row] != expected_flags && !IsExcused(pair, after, result)) {
    result.wrong_flags += 1;
  }
  if (after == AfterTie::kDiverged) {
    result.rows_not_compared += 1;
    return;
  }
  result.wrong_bars += static_cast<int64_t>(view.bar[pair.row]) != golden.bar[pair.expected];
  result.wrong_actions += view.action[pair.row] != golden.action[pair.expected];
  double slack = 0;
  if (after == AfterTie::kSameEpisode) {
    slack = std::fabs(double{view.terms[pair.row * kRewardTerms + 1]} -
                      double{golden.terms[pair.expected * kRewardTerms + 1]});
    const int kEnds = kFlagTerminated | kFlagTruncated;
    if ((expected_flags & kEnds) != 0) after = AfterTie::kNo;
  }
  CompareFloats(pair, slack, result);
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
  std::string ties;
  if (barrier_ties > 0) {
    ties = base::StrCat("; barrier ties in float32, either result right: ", barrier_ties, " (",
                        rows_not_compared, " rows after them not compared)");
  }
  return base::StrCat(valid_rows, " rows; largest errors: ", DescribeError("reward", reward), ", ",
                      DescribeError("portfolio", portfolio), ", ", DescribeError("td", td), ", ",
                      DescribeError("q", q), ", ", DescribeError("terms", terms),
                      "; wrong: ", wrong_actions, " actions, ", wrong_flags, " flags, ", wrong_bars,
                      " bars, ", wrong_idle_rows, " idle rows", ties);
}

absl::StatusOr<GoldenResult> RunGoldenCase(const GoldenCase& golden,
                                           const CollectorFactory& factory) {
  VIXEN_ASSIGN_OR_RETURN(const std::unique_ptr<Collector> collector, factory(golden.options));
  VIXEN_RETURN_IF_ERROR(LoadWeights(golden, *collector));
  const uint64_t slots = golden.options.episodes;
  const uint64_t steps = golden.options.steps;
  GoldenResult result;
  std::vector<AfterTie> after(slots, AfterTie::kNo);
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
        CompareRow({golden, view, slot * steps + step, slot * steps * golden.launches + place, slot,
                    place},
                   after[slot], result);
      }
    }
  }
  return result;
}

}  // namespace vixen::kernels
