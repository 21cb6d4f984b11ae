// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/n_step.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/batch/columns.h"

namespace vixen::learner {
namespace {

using kernels::kPortfolioFeatures;

bool AllFinite(const float* values) {
  return std::all_of(values, values + kPortfolioFeatures, [](float x) { return std::isfinite(x); });
}

}  // namespace

NStepBuilder::NStepBuilder(NStepOptions options) : options_(options) {}

RowRejects NStepBuilder::Add(uint64_t launch, const LaunchRows& rows, std::vector<ReplayRow>& out) {
  const bool continues =
      options_.carry_over && launch == next_launch_ && tails_.size() == rows.episodes;
  if (!continues) {
    Flush(out);
    tails_.assign(rows.episodes, Tail());
  }
  next_launch_ = launch + 1;

  RowRejects rejects;
  pending_rows_ = 0;
  for (uint32_t slot = 0; slot < rows.episodes; ++slot) {
    Tail& tail = tails_[slot];
    for (uint32_t step = 0; step < rows.steps; ++step) {
      const size_t i = size_t{slot} * rows.steps + step;
      if ((rows.flags[i] & kernels::kFlagValid) == 0) {
        CloseAll(tail, out);
        continue;
      }
      const bool finite = AllFinite(rows.portfolio + i * kPortfolioFeatures) &&
                          AllFinite(rows.next_portfolio + i * kPortfolioFeatures) &&
                          std::isfinite(rows.reward[i]) && std::isfinite(rows.td[i]) &&
                          rows.td[i] >= 0.0f;
      const bool in_range = uint64_t{rows.bar[i]} + 1 < options_.bars &&
                            rows.action[i] < kernels::kActions &&
                            ((options_.allowed_actions >> rows.action[i]) & 1) != 0;
      if (!finite || !in_range) {
        ++(finite ? rejects.out_of_range : rejects.non_finite);
        CloseAll(tail, out);
        continue;
      }
      AddStep(tail, rows, i, out);
    }
    if (!options_.carry_over) CloseAll(tail, out);
    pending_rows_ += tail.size();
  }
  return rejects;
}

void NStepBuilder::Flush(std::vector<ReplayRow>& out) {
  for (Tail& tail : tails_) CloseAll(tail, out);
  pending_rows_ = 0;
}

WindowsCut NStepBuilder::Save() const {
  WindowsCut cut{.next_launch = next_launch_, .slots = static_cast<uint32_t>(tails_.size())};
  for (size_t slot = 0; slot < tails_.size(); ++slot) {
    for (const Step& step : tails_[slot]) {
      cut.slot.push_back(static_cast<uint32_t>(slot));
      cut.rows.push_back(step.row);
      cut.rows.back().reward = step.reward;
    }
  }
  return cut;
}

absl::Status NStepBuilder::Restore(const WindowsCut& cut) {
  tails_.assign(cut.slots, Tail());
  for (size_t i = 0; i < cut.rows.size(); ++i) {
    const uint32_t slot = cut.slot[i];
    const bool in_order = slot < cut.slots && (i == 0 || cut.slot[i - 1] <= slot);
    if (!in_order || tails_[slot].size() + 1 >= options_.n) {
      return absl::InvalidArgumentError(absl::StrCat(
          "open window ", i, " of slot ", slot, ": ", cut.slots, " slots with at most ",
          options_.n - 1, " open windows each, by slot, are possible"));
    }
    tails_[slot].push_back({.row = cut.rows[i], .reward = cut.rows[i].reward});
  }
  next_launch_ = cut.next_launch;
  pending_rows_ = cut.rows.size();
  return absl::OkStatus();
}

void NStepBuilder::AddStep(Tail& tail, const LaunchRows& rows, size_t index,
                           std::vector<ReplayRow>& out) const {
  const uint8_t flags = rows.flags[index];
  if (options_.cut_exploratory && (flags & kernels::kFlagExplored) != 0) CloseAll(tail, out);

  Step& step = tail.emplace_back();
  step.reward = static_cast<float>(options_.reward_scale * rows.reward[index]);
  step.row.bar = rows.bar[index];
  step.row.action = rows.action[index];
  step.row.flags = flags;
  step.row.td = rows.td[index];
  for (int k = 0; k < kPortfolioFeatures; ++k) {
    step.row.portfolio[k] = rows.portfolio[index * kPortfolioFeatures + k];
    step.row.next_portfolio[k] = rows.next_portfolio[index * kPortfolioFeatures + k];
  }

  const bool terminated = (flags & kernels::kFlagTerminated) != 0;
  if (terminated || (flags & kernels::kFlagTruncated) != 0) {
    for (size_t front = 0; front < tail.size(); ++front) CloseFront(tail, front, terminated, out);
    tail.clear();
  } else if (tail.size() >= options_.n) {
    CloseFront(tail, 0, false, out);
    tail.erase(tail.begin());
  }
}

// The window of `front` ends with the last row of the tail.
void NStepBuilder::CloseFront(const Tail& tail, size_t front, bool terminal,
                              std::vector<ReplayRow>& out) const {
  ReplayRow row = tail[front].row;
  double sum = 0.0;
  double discount = 1.0;
  for (size_t k = front; k < tail.size(); ++k) {
    sum += discount * tail[k].reward;
    discount *= options_.gamma;
  }
  const ReplayRow& end = tail.back().row;
  row.reward = static_cast<float>(sum);
  row.discount = terminal ? 0.0f : static_cast<float>(discount);
  row.bootstrap_bar = options_.stale_bootstrap ? end.bar : end.bar + 1;
  std::copy(std::begin(end.next_portfolio), std::end(end.next_portfolio), row.bootstrap_portfolio);
  out.push_back(row);
}

void NStepBuilder::CloseAll(Tail& tail, std::vector<ReplayRow>& out) const {
  for (size_t front = 0; front < tail.size(); ++front) CloseFront(tail, front, false, out);
  tail.clear();
}

}  // namespace vixen::learner
