// SPDX-License-Identifier: Apache-2.0
// The CPU executor. A launch has three phases: per block of slots, step by step, online network and
// rules; over all rows, in blocks of their own, target network, curiosity, reward and TD error; per
// slot, the statistics. Every phase is split into pieces that do not depend on the number of
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/worker_pool.h"
#include "kernels/collect/collector.h"
#include "kernels/collect/cpu_weights.h"
#include "kernels/collect/launch_scan.h"
#include "kernels/env/rules.h"
#include "kernels/nn/cpu_network.h"

namespace vixen::kernels {

class CpuCollector final : public Collector {
 public:
  // `options` have passed CheckOptions.
  CpuCollector(const CollectorOptions& options, int threads, MatrixKernel kernel);

  const CollectorInfo& info() const override { return info_; }
  absl::StatusOr<WeightsProbe> StageWeights(const Parameters& parameters) override;
  void CommitWeights(WeightsKind kind) override;
  Batch MakeBatch(bool with_terms) override {
    return Batch(options_.episodes, options_.steps, with_terms);
  }
  absl::Status CanLaunch() const override;
  absl::Status Launch(const LaunchRequest& request, Batch& batch) override;
  absl::Status Wait(Batch& batch) override;
  std::vector<SlotState> SlotStates() override { return slots_; }

 private:
  struct Scratch;  // of one thread

  bool needs_curiosity() const { return rules_.settings.curiosity_max > 0.0f; }

  // Phase 1 for slots [first, first + count): fills every column; td holds Q(s, a), reward lacks
  // the curiosity term.
  void RunSlots(const LaunchRequest& request, const BatchView& view, size_t first, size_t count,
                Scratch& scratch);
  // Phase 2 for rows [first, end).
  void FinishRows(const BatchView& view, size_t first, size_t end, Scratch& scratch) const;
  void AddCuriosity(const BatchView& view, const size_t* rows, size_t count,
                    Scratch& scratch) const;
  void Bootstrap(const BatchView& view, const size_t* rows, size_t count, Scratch& scratch) const;
  void ChooseNextActions(const BatchView& view, const size_t* rows, size_t count,
                         Scratch& scratch) const;

  const CollectorOptions options_;
  const Rules rules_;
  CollectorInfo info_;
  CpuWeights weights_;
  base::WorkerPool pool_;
  size_t slots_per_block_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  // [threads]
  std::vector<SlotState> slots_;                   // [N] after the last completed launch
  std::vector<SlotTrading> trading_;               // [N]
  std::vector<uint8_t> greedy_;  // [N·L] with double_dqn: argmax of online Q(s, ·)
  std::vector<float> terms_;     // [N·L, 5] for batches without terms
};

}  // namespace vixen::kernels
