// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/host_gradient.h"

#include <algorithm>

#include "kernels/env/settings.h"
#include "learner/trainer/host_block.h"
#include "learner/trainer/host_layers.h"

namespace vixen::learner {

struct HostGradient::State {
  explicit State(const HostGradientOptions& o)
      : options(o),
        layout(o.architecture),
        online(o.architecture, o.actions),
        target(o.architecture, o.actions),
        seen(o.batch_size),
        sums(layout, o.actions.size()) {
    // As many rounds of a block a thread as the blocks' size asks for, equally large.
    const auto threads = static_cast<size_t>(o.threads);
    const size_t share = (o.batch_size + threads - 1) / threads;
    const size_t rounds = (share + HostBlock::kMostRows - 1) / HostBlock::kMostRows;
    block_rows = (share + rounds - 1) / rounds;
    block_rows = (block_rows + kernels::kTileRows - 1) / kernels::kTileRows * kernels::kTileRows;
    blocks.reserve(threads);
    for (size_t i = 0; i < threads; ++i) {
      blocks.emplace_back(options, layout, online.padded_actions(), block_rows);
    }
  }

  void UnfoldHead();
  UpdateStatistics Statistics() const;

  const HostGradientOptions options;
  const HostLayout layout;
  HostLayers online, target;
  HostRows seen;
  HostSums sums;
  size_t block_rows = 0;
  std::vector<HostBlock> blocks;  // one a thread
};

// Row a of the head is [v | A_a − mean A].
void HostGradient::State::UnfoldHead() {
  const HostLayout& l = layout;
  float* const gradient = sums.flat;
  constexpr float kShare = 1.0f / kernels::kActions;
  for (size_t i = 0; i < options.actions.size(); ++i) {
    const float* head = sums.head.data() + i * l.hs;
    const float bias = sums.head_bias[i];
    for (size_t k = 0; k < l.hv; ++k) gradient[l.wv + k] += head[k];
    gradient[l.bv] += bias;
    for (size_t a = 0; a < kernels::kActions; ++a) {
      const float part = (a == options.actions[i] ? 1.0f : 0.0f) - kShare;
      float* const row = gradient + l.wa + a * l.ha;
      for (size_t k = 0; k < l.ha; ++k) row[k] += part * head[l.hv + k];
      gradient[l.ba + a] += part * bias;
    }
  }
}

UpdateStatistics HostGradient::State::Statistics() const {
  UpdateStatistics statistics;
  double q_sum = 0;
  statistics.max_q = seen.q_max.front();
  for (size_t i = 0; i < seen.loss.size(); ++i) {
    LossOfRow(seen.loss[i], statistics);
    q_sum += seen.q_sum[i];
    statistics.max_q = std::max<double>(statistics.max_q, seen.q_max[i]);
  }
  const double rows = options.batch_size;
  statistics.loss /= rows;
  statistics.mean_abs_td /= rows;
  statistics.clipped_rows /= rows;
  statistics.mean_q = q_sum / (rows * static_cast<double>(options.actions.size()));
  return statistics;
}

HostGradient::HostGradient(const HostGradientOptions& options)
    : state_(std::make_unique<State>(options)) {}
HostGradient::~HostGradient() = default;

UpdateStatistics HostGradient::Compute(const float* online, const float* target,
                                       const Minibatch& batch, std::span<const uint32_t> column,
                                       float* gradient, std::span<float> abs_td,
                                       std::span<float> taken_q) {
  State& s = *state_;
  const size_t threads = s.blocks.size(), rows = s.options.batch_size;
  const HostPass pass{s.online, s.target, batch, column};
  s.sums.flat = gradient;
  std::fill_n(gradient, s.layout.count, 0.0f);
  std::fill(s.sums.first.begin(), s.sums.first.end(), 0.0f);
  std::fill(s.sums.head.begin(), s.sums.head.end(), 0.0f);
  std::fill(s.sums.head_bias.begin(), s.sums.head_bias.end(), 0.0f);
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
#pragma omp for schedule(static, 1)
    for (int network = 0; network < 2; ++network) {
      (network == 0 ? s.online : s.target).Prepare(network == 0 ? online : target);
    }
    for (size_t first = 0; first < rows; first += threads * s.block_rows) {
#pragma omp for schedule(static, 1)
      for (size_t i = 0; i < threads; ++i) {
        const size_t begin = std::min(rows, first + i * s.block_rows);
        const size_t end = std::min(rows, begin + s.block_rows);
        s.blocks[i].Run(pass, begin, end - begin, s.seen, abs_td, taken_q);
      }
#pragma omp for schedule(static, 1)
      for (size_t part = 0; part < threads; ++part) {
        for (const HostBlock& block : s.blocks) block.AddTo(pass, part, threads, s.sums);
      }
    }
  }
  TransposeInto(s.sums.first.data(), s.layout.state, s.layout.h1, gradient + s.layout.w1);
  s.UnfoldHead();
  return s.Statistics();
}

}  // namespace vixen::learner
