// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/minibatch.h"

#include <algorithm>

namespace vixen::learner {
namespace {

using kernels::kPortfolioFeatures;

// The first `width` entries of the state features[bar] ‖ portfolio.
void WriteState(std::span<const float> features, uint32_t feature_count, uint32_t bar,
                const float* portfolio, uint32_t width, float* out) {
  const uint32_t from_market = std::min(width, feature_count);
  std::copy_n(features.data() + size_t{bar} * feature_count, from_market, out);
  std::copy_n(portfolio, width - from_market, out + from_market);
}

}  // namespace

void Gather(std::span<const float> features, const Replay& replay, const Sample& sample,
            Minibatch& out) {
  const uint32_t feature_count = out.state - kPortfolioFeatures;
  for (uint32_t i = 0; i < out.rows; ++i) {
    const ReplayRow& row = replay.row(sample.slot[i]);
    WriteState(features, feature_count, row.bar, row.portfolio, out.state,
               out.states.data() + size_t{i} * out.state);
    WriteState(features, feature_count, row.bootstrap_bar, row.bootstrap_portfolio, out.state,
               out.states.data() + (size_t{out.rows} + i) * out.state);
    out.action[i] = row.action;
    out.reward[i] = row.reward;
    out.discount[i] = row.discount;
    out.weight[i] = sample.weight[i];
    out.slot[i] = sample.slot[i];
  }
}

namespace {

// `row_at(i)` is the i-th row.
template <typename RowAt>
void GatherRows(std::span<const float> features, RowAt&& row_at, CuriosityMinibatch& out) {
  const uint32_t width = out.embedding + kernels::kCategories;
  for (uint32_t i = 0; i < out.rows; ++i) {
    const ReplayRow& row = row_at(i);
    float* input = out.input.data() + size_t{i} * width;
    WriteState(features, out.feature_count, row.bar, row.portfolio, out.embedding, input);
    std::fill_n(input + out.embedding, kernels::kCategories, 0.0f);
    const int exposure = row.action / kernels::kStyles;
    const int category = exposure < 2 ? 0 : exposure == 2 ? 1 : 2;
    input[out.embedding + static_cast<uint32_t>(category)] = 1.0f;
    WriteState(features, out.feature_count, row.bar + 1, row.next_portfolio, out.embedding,
               out.target.data() + size_t{i} * out.embedding);
  }
}

}  // namespace

void Gather(std::span<const float> features, std::span<const ReplayRow> rows,
            CuriosityMinibatch& out) {
  GatherRows(
      features, [&](uint32_t i) -> const ReplayRow& { return rows[i]; }, out);
}

void Gather(std::span<const float> features, const Replay& replay, const Sample& sample,
            CuriosityMinibatch& out) {
  GatherRows(
      features, [&](uint32_t i) -> const ReplayRow& { return replay.row(sample.slot[i]); }, out);
}

}  // namespace vixen::learner
