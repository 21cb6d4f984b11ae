// SPDX-License-Identifier: Apache-2.0
// The peer of `vixen bench replay` must do the same work as the replay.
#include "bench/learner/textbook_replay.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "learner/replay/replay.h"

namespace vixen::bench {
namespace {

TEST(TextbookReplay, WeighsRowsAsTheReplayDoes) {
  const std::vector<float> td = {0.5f, 0.0f, 2.0f, 1.0f, 0.25f};
  learner::Replay ours({.capacity = td.size(), .alpha = 0.6});
  TextbookReplay textbook(td.size(), 0.6, 1e-6);
  std::vector<learner::ReplayRow> rows(td.size());
  for (uint32_t slot = 0; slot < td.size(); ++slot) {
    rows[slot].td = td[slot];
    textbook.Set(slot, td[slot]);
  }
  ours.Insert(rows);
  EXPECT_NEAR(textbook.total(), ours.total(), 1e-6 * ours.total());

  learner::Sample sample;
  ours.Draw(1000, 0.4, sample);
  std::map<uint32_t, float> weight;
  for (size_t i = 0; i < sample.slot.size(); ++i) weight[sample.slot[i]] = sample.weight[i];
  std::vector<uint32_t> slots;
  std::vector<float> weights;
  textbook.Draw(1000, 0.4, slots, weights);
  std::map<uint32_t, int> count;
  for (size_t i = 0; i < slots.size(); ++i) {
    ++count[slots[i]];
    EXPECT_NEAR(weights[i], weight[slots[i]], 1e-5);
  }
  // Strata make the counts exact but for one at either end of a row's part.
  for (uint32_t slot = 0; slot < td.size(); ++slot) {
    EXPECT_NEAR(count[slot], 1000 * ours.leaf(slot) / ours.total(), 1) << slot;
  }
}

TEST(TextbookReplay, DrawsByTheNewestPriorities) {
  TextbookReplay textbook(3, 1.0, 0.0);
  for (const uint32_t slot : {0u, 1u, 2u}) textbook.Set(slot, 1.0f);
  textbook.Set(0, 0.0f);
  textbook.Set(2, 0.0f);
  std::vector<uint32_t> slots;
  std::vector<float> weights;
  textbook.Draw(64, 0.0, slots, weights);
  EXPECT_EQ(slots, std::vector<uint32_t>(64, 1));
}

}  // namespace
}  // namespace vixen::bench
