// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/env/settings.h"
#include "kernels/nn/network.h"
#include "learner/replay/replay.h"

namespace vixen::learner {

// The rows of one update as the networks read them; allocated once. B rows, state width S.
struct Minibatch {
  Minibatch(uint32_t rows, uint32_t state) : rows(rows), state(state) {
    states.resize(size_t{2} * rows * state);
    action.resize(rows);
    reward.resize(rows);
    discount.resize(rows);
    weight.resize(rows);
    slot.resize(rows);
  }

  uint32_t rows, state;
  std::vector<float> states;    // [2B, S]: s of every row, then the bootstrap states
  std::vector<uint8_t> action;  // [B]
  std::vector<float> reward;    // [B] n-step
  std::vector<float> discount;  // [B] γ^m, 0 where the window ended in a terminal step
  std::vector<float> weight;    // [B] importance weights
  std::vector<uint32_t> slot;   // [B] the rows' places in the replay
};

// The rows of one curiosity update. E the embedding.
struct CuriosityMinibatch {
  CuriosityMinibatch(uint32_t rows, const kernels::Architecture& architecture)
      : rows(rows), feature_count(architecture.features), embedding(architecture.embedding()) {
    input.resize(size_t{rows} * (embedding + kernels::kCategories));
    target.resize(size_t{rows} * embedding);
  }

  uint32_t rows, feature_count, embedding;
  std::vector<float> input;   // [B, E + 3]: s[0..E) ‖ one-hot category
  std::vector<float> target;  // [B, E]: s'[0..E)
};

// Fills a minibatch from the dataset's features [T, F] and the sampled rows. O(B·S).
void Gather(std::span<const float> features, const Replay& replay, const Sample& sample,
            Minibatch& out);
// `rows`: out.rows of them.
void Gather(std::span<const float> features, std::span<const ReplayRow> rows,
            CuriosityMinibatch& out);
void Gather(std::span<const float> features, const Replay& replay, const Sample& sample,
            CuriosityMinibatch& out);

}  // namespace vixen::learner
