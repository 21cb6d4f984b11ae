// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/nn/network.h"
#include "learner/trainer/minibatch.h"
#include "learner/trainer/td_loss.h"
#include "learner/trainer/trainer_cut.h"

namespace vixen::learner {

class Ranks;

struct TrainerOptions {
  kernels::Architecture architecture;
  std::vector<uint8_t> actions;  // allowed, ascending: every argmax runs over these only
  uint32_t batch_size = 128;
  double learning_rate = 5e-4;
  double adam_epsilon = 1e-5;
  double weight_decay = 0;        // > 0: AdamW
  double max_gradient_norm = 10;  // 0: no clipping
  double huber_delta = 1;
  bool double_dqn = true;      // a* from the online network, else from the target's own
  double polyak_tau = 0.005;   // share of the online weights each update; unused with a period
  uint64_t target_period = 0;  // > 0: hard copy every so many updates
  bool frozen_target = false;  // planted fault: never sync
  bool ascent = false;         // planted fault: against the gradient's sign
  Ranks* ranks = nullptr;      // gradients are averaged over these; none: alone
  std::string device = "cpu";  // Devices::torch
};

// Dueling double DQN on one device. One thread. Deterministic on the CPU for given weights, batches
// and LibTorch threads. LibTorch stays behind this header.
class Trainer {
 public:
  // INVALID_ARGUMENT when weights and options disagree; INTERNAL naming LibTorch's complaint.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const TrainerOptions& options,
                                                         const kernels::Parameters& online,
                                                         const kernels::Parameters& target);
  ~Trainer();

  // Filled by the caller before each Update.
  Minibatch& minibatch();

  // One update from the minibatch: loss, gradient, clip, Adam, target sync; |td| of its rows is
  // then in abs_td(). DATA_LOSS when loss or gradient is not finite: the weights are as before
  // then. With ranks the loss and its statistics (but the largest Q) are the means over all of
  // them, a loss at any rank that is not finite is DATA_LOSS at each, and what Ranks::Sum says
  // comes back with the weights as before.
  absl::StatusOr<UpdateStatistics> Update();
  std::span<const float> abs_td() const;
  // Q of the taken actions of its rows, before the update.
  std::span<const float> taken_q() const;

  // Copies of what is trained: kOnline or kTarget.
  kernels::Parameters Export(kernels::WeightsKind kind) const;

  uint64_t updates() const;

  // Everything that the next update depends on beside its minibatch.
  TrainerCut Save() const;
  // INVALID_ARGUMENT when the cut is of another architecture.
  absl::Status Restore(const TrainerCut& cut);

 private:
  struct State;
  explicit Trainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace vixen::learner
