// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/launch_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/str_cat.h"

namespace vixen::kernels {
namespace {

constexpr size_t kSlotsPerPiece = 16;
constexpr size_t kNoRow = std::numeric_limits<size_t>::max();

struct Piece {
  LaunchStatistics statistics;
  size_t bad_row = kNoRow;  // the first with a value that is not finite
};

void AddRow(const BatchView& view, size_t row, LaunchStatistics& statistics) {
  for (int i = 0; i < kRewardTerms; ++i) {
    const double term = view.terms[row * kRewardTerms + i];
    statistics.term_sum[i] += term;
    statistics.term_sum_squares[i] += term * term;
  }
  const uint8_t flags = view.flags[row];
  statistics.valid_rows += 1;
  statistics.explored += (flags & kFlagExplored) != 0;
  statistics.exposure_class[view.action[row] / kStyles] += 1;
  statistics.barrier_result[static_cast<int>(BarrierOf(flags))] += 1;
  statistics.terminated += (flags & kFlagTerminated) != 0;
  statistics.truncated += (flags & kFlagTruncated) != 0;
  const double td = view.td[row];
  statistics.td_sum += td;
  statistics.td_max = std::max(statistics.td_max, td);
}

void AddEpisode(double reward, double net_return, uint64_t length, LaunchStatistics& statistics) {
  statistics.episodes_ended += 1;
  statistics.episode_reward_sum += reward;
  statistics.episode_reward_sum_squares += reward * reward;
  statistics.episode_return_sum += net_return;
  statistics.episode_return_sum_squares += net_return * net_return;
  statistics.episode_length_sum += length;
}

void ScanSlot(const BatchView& view, size_t first_row, uint32_t steps, const SlotState& start,
              SlotState& slot, Piece& piece) {
  float reward = start.episode_reward;
  uint64_t length = start.step;
  for (size_t row = first_row; row < first_row + steps; ++row) {
    const uint8_t flags = view.flags[row];
    if (flags == 0) continue;
    if (!std::isfinite(view.reward[row]) || !std::isfinite(view.td[row])) {
      piece.bad_row = std::min(piece.bad_row, row);
    }
    AddRow(view, row, piece.statistics);
    reward += view.reward[row];
    length += 1;
    if ((flags & (kFlagTerminated | kFlagTruncated)) != 0) {
      const double net_return = double{view.next_portfolio[row * kPortfolioFeatures]} - 1.0;
      AddEpisode(reward, net_return, length, piece.statistics);
      reward = 0.0f;
      length = 0;
    }
  }
  slot.episode_reward = reward;
}

}  // namespace

absl::Status ScanLaunch(const BatchView& view, uint32_t steps, float initial_capital,
                        std::span<const SlotState> start, std::span<const SlotTrading> trading,
                        std::span<SlotState> slots, base::WorkerPool& pool,
                        LaunchStatistics& statistics) {
  std::vector<Piece> pieces((slots.size() + kSlotsPerPiece - 1) / kSlotsPerPiece);
  pool.ParallelFor(static_cast<int64_t>(pieces.size()), [&](int64_t p, int) {
    Piece& piece = pieces[p];
    const size_t first = p * kSlotsPerPiece;
    const size_t end = std::min(first + kSlotsPerPiece, slots.size());
    for (size_t n = first; n < end; ++n) {
      ScanSlot(view, n * steps, steps, start[n], slots[n], piece);
      piece.statistics.trades += trading[n].fills;
      piece.statistics.traded_notional += trading[n].notional / initial_capital;
      piece.statistics.costs += trading[n].costs / initial_capital;
    }
  });
  statistics = LaunchStatistics();
  size_t bad_row = kNoRow;
  for (const Piece& piece : pieces) {
    statistics.Add(piece.statistics);
    bad_row = std::min(bad_row, piece.bad_row);
  }
  if (bad_row == kNoRow) return absl::OkStatus();
  return absl::InternalError(base::StrCat(
      "slot ", bad_row / steps, ", step ", bad_row % steps, ", bar ", view.bar[bad_row],
      ": reward = ", view.reward[bad_row], ", td = ", view.td[bad_row],
      " is not finite: the weights or prices overflow float32; push other weights"));
}

}  // namespace vixen::kernels
