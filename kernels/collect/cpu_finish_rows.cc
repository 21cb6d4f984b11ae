// SPDX-License-Identifier: Apache-2.0
// Phase 2 of a launch: curiosity, reward and TD error of finished rows.
#include <algorithm>
#include <cstring>

#include "kernels/collect/cpu_collector.h"
#include "kernels/collect/cpu_scratch.h"
#include "kernels/collect/state_block.h"
#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Calls body(first, count) for the blocks of a list of rows.
template <typename Body>
void ForBlocks(size_t rows, const Body& body) {
  for (size_t first = 0; first < rows; first += kRowBlock) {
    body(first, std::min(kRowBlock, rows - first));
  }
}

}  // namespace

void CpuCollector::FinishRows(const BatchView& view, size_t first, size_t end,
                              Scratch& scratch) const {
  scratch.valid.clear();
  scratch.bootstrapped.clear();
  for (size_t row = first; row < end; ++row) {
    if (view.flags[row] == 0) continue;
    scratch.valid.push_back(row);
    if ((view.flags[row] & kFlagTerminated) == 0) scratch.bootstrapped.push_back(row);
  }
  if (needs_curiosity()) {
    ForBlocks(scratch.valid.size(), [&](size_t begin, size_t count) {
      AddCuriosity(view, scratch.valid.data() + begin, count, scratch);
    });
  }
  for (const size_t row : scratch.valid) {
    const float* terms = view.terms + row * kRewardTerms;
    view.reward[row] = RewardOf(terms[0], terms[1], terms[2], terms[3], terms[4]);
    if ((view.flags[row] & kFlagTerminated) != 0) {
      view.td[row] = TdError(rules_.settings, true, view.reward[row], 0.0f, view.td[row]);
    }
  }
  if (rules_.settings.double_dqn) {
    scratch.unknown.clear();
    for (const size_t row : scratch.bootstrapped) {
      // The next row's state is this row's s' when its episode went on with the same portfolio.
      const bool goes_on =
          (view.flags[row] & kFlagTruncated) == 0 && (row + 1) % options_.steps != 0;
      if (goes_on && std::memcmp(view.next_portfolio + row * kPortfolioFeatures,
                                 view.portfolio + (row + 1) * kPortfolioFeatures,
                                 kPortfolioFeatures * sizeof(float)) == 0) {
        scratch.next_action[row % kRowsPerPiece] = greedy_[row + 1];
      } else {
        scratch.unknown.push_back(row);
      }
    }
    ForBlocks(scratch.unknown.size(), [&](size_t begin, size_t count) {
      ChooseNextActions(view, scratch.unknown.data() + begin, count, scratch);
    });
  }
  ForBlocks(scratch.bootstrapped.size(), [&](size_t begin, size_t count) {
    Bootstrap(view, scratch.bootstrapped.data() + begin, count, scratch);
  });
}

void CpuCollector::AddCuriosity(const BatchView& view, const size_t* rows, size_t count,
                                Scratch& scratch) const {
  const MarketView& market = options_.market;
  const size_t lanes = RoundUp(count, kRowMultiple);
  const size_t embedding = options_.architecture.embedding();
  float* input = scratch.curiosity_input.data();
  std::fill_n(input + embedding * lanes, kCategories * lanes, 0.0f);
  for (size_t i = 0; i < count; ++i) {
    const size_t row = rows[i];
    GatherEmbedding(market, view.bar[row], view.portfolio + row * kPortfolioFeatures, embedding,
                    lanes, input + i);
    input[(embedding + CategoryOf(view.action[row])) * lanes + i] = 1.0f;
    GatherEmbedding(market, view.bar[row] + 1, view.next_portfolio + row * kPortfolioFeatures,
                    embedding, lanes, scratch.next_state.data() + i);
  }
  weights_.curiosity()->Forward(input, lanes, scratch.layers.data(), scratch.guess.data());
  for (size_t i = 0; i < count; ++i) {
    float sum = 0.0f;
    for (size_t j = 0; j < embedding; ++j) {
      const float error = scratch.guess[j * lanes + i] - scratch.next_state[j * lanes + i];
      sum += error * error;
    }
    view.terms[rows[i] * kRewardTerms + 4] =
        CuriosityTerm(rules_.settings, sum / static_cast<float>(embedding));
  }
}

void CpuCollector::ChooseNextActions(const BatchView& view, const size_t* rows, size_t count,
                                     Scratch& scratch) const {
  const size_t lanes = RoundUp(count, kRowMultiple);
  for (size_t i = 0; i < count; ++i) {
    GatherState(options_.market, view.bar[rows[i]] + 1,
                view.next_portfolio + rows[i] * kPortfolioFeatures, i, lanes, scratch.state.data());
  }
  weights_.online()->Forward(scratch.state.data(), lanes, scratch.layers.data(), scratch.q.data());
  for (size_t i = 0; i < count; ++i) {
    scratch.next_action[rows[i] % kRowsPerPiece] = static_cast<uint8_t>(
        GreedyAction(rules_.settings, scratch.q.data() + i, static_cast<int>(lanes)));
  }
}

void CpuCollector::Bootstrap(const BatchView& view, const size_t* rows, size_t count,
                             Scratch& scratch) const {
  const size_t lanes = RoundUp(count, kRowMultiple);
  for (size_t i = 0; i < count; ++i) {
    GatherState(options_.market, view.bar[rows[i]] + 1,
                view.next_portfolio + rows[i] * kPortfolioFeatures, i, lanes, scratch.state.data());
  }
  weights_.target()->Forward(scratch.state.data(), lanes, scratch.layers.data(), scratch.q.data());
  for (size_t i = 0; i < count; ++i) {
    const size_t row = rows[i];
    const float* q = scratch.q.data() + i;
    const int action = rules_.settings.double_dqn
                           ? scratch.next_action[row % kRowsPerPiece]
                           : GreedyAction(rules_.settings, q, static_cast<int>(lanes));
    view.td[row] =
        TdError(rules_.settings, false, view.reward[row], q[action * lanes], view.td[row]);
  }
}

}  // namespace vixen::kernels
