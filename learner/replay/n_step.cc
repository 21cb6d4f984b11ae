// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/n_step.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/batch/columns.h"

namespace vixen::learner {
namespace {

using kernels::kPortfolioFeatures;

// A product with 0 is NaN for NaN and infinities, else ±0: one sum instead of a branch a value.
float NotFinite(const float* portfolio) {
  float sum = 0.0f;
  for (int k = 0; k < kPortfolioFeatures; ++k) sum += portfolio[k] * 0.0f;
  return sum;
}

bool IsFinite(const LaunchRows& rows, size_t i) {
  const float sum = NotFinite(rows.portfolio + i * kPortfolioFeatures) +
                    NotFinite(rows.next_portfolio + i * kPortfolioFeatures) +
                    rows.reward[i] * 0.0f + rows.td[i] * 0.0f;
  return sum == 0.0f && rows.td[i] >= 0.0f;
}

}  // namespace

NStepBuilder::NStepBuilder(NStepOptions options) : options_(options) {}

RowRejects NStepBuilder::Add(uint64_t launch, const LaunchRows& rows, RowList& out) {
  const bool continues =
      options_.carry_over && launch == next_launch_ && tails_.size() == rows.episodes;
  if (!continues) {
    Flush(out);
    tails_.assign(rows.episodes, {});
  }
  next_launch_ = launch + 1;

  RowRejects rejects;
  out.reserve(out.size() + rows.rows() + pending_rows_);
  pending_rows_ = 0;
  for (uint32_t slot = 0; slot < rows.episodes; ++slot) {
    std::vector<ReplayRow>& tail = tails_[slot];
    OpenWindows open{out, out.size()};
    out.insert(out.end(), tail.begin(), tail.end());
    for (uint32_t step = 0; step < rows.steps; ++step) {
      const size_t i = size_t{slot} * rows.steps + step;
      if ((rows.flags[i] & kernels::kFlagValid) == 0) {
        CloseAll(false, open);
        continue;
      }
      const bool finite = IsFinite(rows, i);
      const bool in_range = uint64_t{rows.bar[i]} + 1 < options_.bars &&
                            rows.action[i] < kernels::kActions &&
                            ((options_.allowed_actions >> rows.action[i]) & 1) != 0;
      if (!finite || !in_range) {
        ++(finite ? rejects.out_of_range : rejects.non_finite);
        CloseAll(false, open);
        continue;
      }
      AddStep(rows, i, open);
    }
    if (!options_.carry_over) CloseAll(false, open);
    const auto still_open = out.begin() + static_cast<ptrdiff_t>(open.front);
    tail.assign(still_open, out.end());
    out.erase(still_open, out.end());
    pending_rows_ += tail.size();
  }
  return rejects;
}

void NStepBuilder::Flush(RowList& out) {
  for (std::vector<ReplayRow>& tail : tails_) {
    OpenWindows open{out, out.size()};
    out.insert(out.end(), tail.begin(), tail.end());
    CloseAll(false, open);
    tail.clear();
  }
  pending_rows_ = 0;
}

WindowsCut NStepBuilder::Save() const {
  WindowsCut cut{.next_launch = next_launch_, .slots = static_cast<uint32_t>(tails_.size())};
  for (size_t slot = 0; slot < tails_.size(); ++slot) {
    cut.slot.insert(cut.slot.end(), tails_[slot].size(), static_cast<uint32_t>(slot));
    cut.rows.insert(cut.rows.end(), tails_[slot].begin(), tails_[slot].end());
  }
  return cut;
}

absl::Status NStepBuilder::Restore(const WindowsCut& cut) {
  tails_.assign(cut.slots, {});
  for (size_t i = 0; i < cut.rows.size(); ++i) {
    const uint32_t slot = cut.slot[i];
    const bool in_order = slot < cut.slots && (i == 0 || cut.slot[i - 1] <= slot);
    if (!in_order || tails_[slot].size() + 1 >= options_.n) {
      return absl::InvalidArgumentError(absl::StrCat(
          "open window ", i, " of slot ", slot, ": ", cut.slots, " slots with at most ",
          options_.n - 1, " open windows each, by slot, are possible"));
    }
    tails_[slot].push_back(cut.rows[i]);
  }
  next_launch_ = cut.next_launch;
  pending_rows_ = cut.rows.size();
  return absl::OkStatus();
}

void NStepBuilder::AddStep(const LaunchRows& rows, size_t index, OpenWindows& open) const {
  const uint8_t flags = rows.flags[index];
  if (options_.cut_exploratory && (flags & kernels::kFlagExplored) != 0) CloseAll(false, open);

  ReplayRow& row = open.out.emplace_back();
  row.bar = rows.bar[index];
  row.action = rows.action[index];
  row.flags = flags;
  row.td = rows.td[index];
  row.reward = static_cast<float>(options_.reward_scale * rows.reward[index]);
  for (int k = 0; k < kPortfolioFeatures; ++k) {
    row.portfolio[k] = rows.portfolio[index * kPortfolioFeatures + k];
    row.next_portfolio[k] = rows.next_portfolio[index * kPortfolioFeatures + k];
  }

  if (options_.fault != RowFault::kNone) Spoil(rows, index, row);
  const bool terminated = (flags & kernels::kFlagTerminated) != 0;
  if (terminated || (flags & kernels::kFlagTruncated) != 0) {
    CloseAll(terminated, open);
  } else if (open.out.size() - open.front >= options_.n) {
    CloseFront(false, open);
  }
}

void NStepBuilder::Spoil(const LaunchRows& rows, size_t index, ReplayRow& row) const {
  switch (options_.fault) {
    case RowFault::kWrongAction:
      do {
        row.action = static_cast<uint8_t>((row.action + 1) % kernels::kActions);
      } while (((options_.allowed_actions >> row.action) & 1) == 0);
      break;
    case RowFault::kLookahead:
      ++row.bar;
      break;
    case RowFault::kBlindPortfolio:
      std::fill(std::begin(row.portfolio), std::end(row.portfolio), 0.0f);
      std::fill(std::begin(row.next_portfolio), std::end(row.next_portfolio), 0.0f);
      break;
    case RowFault::kLateReward:
      row.reward = index % rows.steps == 0 ? 0.0f : rows.reward[index - 1];
      break;
    case RowFault::kNoBootstrap:
    case RowFault::kNone:
      break;
  }
}

void NStepBuilder::CloseFront(bool terminal, OpenWindows& open) const {
  double sum = 0.0;
  double discount = 1.0;
  for (size_t k = open.front; k < open.out.size(); ++k) {
    sum += discount * open.out[k].reward;
    discount *= options_.gamma;
  }
  const ReplayRow& end = open.out.back();
  ReplayRow& row = open.out[open.front++];
  row.reward = static_cast<float>(sum);
  row.discount =
      terminal || options_.fault == RowFault::kNoBootstrap ? 0.0f : static_cast<float>(discount);
  row.bootstrap_bar = options_.stale_bootstrap ? end.bar : end.bar + 1;
  std::copy(std::begin(end.next_portfolio), std::end(end.next_portfolio), row.bootstrap_portfolio);
}

void NStepBuilder::CloseAll(bool terminal, OpenWindows& open) const {
  while (open.front < open.out.size()) CloseFront(terminal, open);
}

}  // namespace vixen::learner
