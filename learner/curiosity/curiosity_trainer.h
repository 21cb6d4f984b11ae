// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/nn/network.h"
#include "learner/curiosity/curiosity.h"
#include "learner/trainer/minibatch.h"

namespace vixen::learner {

class Ranks;

struct CuriosityOptions {
  kernels::Architecture architecture;
  uint32_t batch_size = 128;
  double learning_rate = 1e-3;
  std::string device = "cpu";
  Ranks* ranks = nullptr;  // gradients are averaged over these; none: alone
};

// The forward model whose error is the curiosity reward: s[0..E) ‖ one-hot category → s'[0..E), one
// hidden layer, mean squared error over rows and entries, Adam. One thread.
class CuriosityTrainer : public Curiosity {
 public:
  static absl::StatusOr<std::unique_ptr<CuriosityTrainer>> Create(
      const CuriosityOptions& options, const kernels::Parameters& weights);
  ~CuriosityTrainer() override;

  CuriosityMinibatch& minibatch();
  // One update from the minibatch; the loss. DATA_LOSS when it is not finite: nothing changed then.
  absl::StatusOr<double> Update();

  absl::StatusOr<kernels::Parameters> Export() const override;
  absl::StatusOr<CuriosityCut> Save() const override;
  absl::Status Restore(const CuriosityCut& cut) override;

 private:
  struct State;
  explicit CuriosityTrainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace vixen::learner
