// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status_macros.h"
#include "learner/device/device_curiosity.h"
#include "learner/device/device_replay.h"
#include "learner/device/device_updater.h"
#include "learner/device/trainer_memory.h"
#include "learner/device/update_graph.h"

namespace vixen::learner {

// A NaN of a GPU may have a sign, which a message would show.
inline double WithoutSign(double x) { return std::isnan(x) ? std::fabs(x) : x; }

// How gradients become those of all ranks.
enum class Exchange : uint8_t {
  kAlone,   // there are no other ranks
  kHost,    // by the options' `average`, between two halves of an update
  kGpus,    // by NCCL, within the graph
  kBroken,  // a rank is lost, or they did not meet: no update until kHost or kGpus has begun
};

// What one launch tells the host, and is told.
struct Told {
  kernels::PinnedBuffer<DeviceStatistics> statistics;
  kernels::PinnedBuffer<UpdateControl> control;
  kernels::PinnedBuffer<TreeCounts> counts;
  // Of the last update.
  kernels::PinnedBuffer<uint32_t> slot;
  kernels::PinnedBuffer<uint64_t> generation;
  kernels::PinnedBuffer<float> weight, abs_td, taken_q;
};

// The Updater of device_updater.h.
class GraphUpdater : public Updater {
 public:
  GraphUpdater(const DeviceUpdaterOptions& device, const TrainerOptions& trainer);

  absl::Status Start(const ReplayOptions& replay, std::span<const float> features,
                     const kernels::Parameters& online, const kernels::Parameters& target);

  uint64_t size() const override { return replay_.size(); }
  uint64_t capacity() const override { return replay_.capacity(); }
  uint64_t inserted() const override { return replay_.inserted(); }
  uint64_t replay_bytes() const override { return bytes_; }
  std::pmr::memory_resource* row_memory() override { return replay_.row_memory(); }
  absl::Status Insert(std::span<const ReplayRow> rows) override {
    VIXEN_RETURN_IF_ERROR(held_);
    return replay_.Insert(rows, stream_.get());
  }
  absl::StatusOr<double> LeastShare() override;
  double BetaAt(uint64_t updates) const override {
    return Replay::BetaAt(replay_.options(), updates);
  }
  const PriorityRejects& rejects() const override { return rejects_; }
  uint64_t updates() const override { return updates_; }

  uint64_t updates_at_once() const override {
    return exchange_ == Exchange::kHost ? 1 : device_.updates_a_graph;
  }
  absl::StatusOr<UpdatesMade> Update(uint64_t most, double least_share) override;
  absl::StatusOr<uint64_t> JoinRanks(const NcclPlace& place) override;
  absl::Status AverageThroughHost() override;
  absl::Status Held() const override { return held_; }
  void SpoilReward(uint64_t update) override { spoiled_ = update; }
  absl::StatusOr<const Minibatch*> minibatch() override;
  absl::Status GatherLast(CuriosityMinibatch& out) override;
  Curiosity* curiosity() override { return curiosity_.get(); }

  absl::StatusOr<kernels::Parameters> Export(kernels::WeightsKind kind) const override;
  absl::StatusOr<TrainerCut> SaveTrainer() const override;
  absl::Status RestoreTrainer(const TrainerCut& cut) override;
  absl::Status SaveReplay(ReplayCut& cut) const override {
    VIXEN_RETURN_IF_ERROR(held_);
    cut.sampler = sampler_;
    return replay_.Save(cut, stream_.get());
  }
  absl::Status RestoreReplay(const ReplayCut& cut) override {
    VIXEN_RETURN_IF_ERROR(held_);
    VIXEN_RETURN_IF_ERROR(replay_.Restore(cut, stream_.get()));
    sampler_ = cut.sampler;
    return absl::OkStatus();
  }

 private:
  // The one place where it changes: while it is broken, nothing of a launch is applied.
  void SetExchange(Exchange exchange) {
    exchange_ = exchange;
    memory_.SetLost(exchange == Exchange::kBroken);
  }
  // Neither the graphs nor anything else uses the ranks' group any more.
  void EndGroup();
  absl::Status SetControl(double least_share);
  // Has the host told what the launch under way leaves, once it has ended.
  absl::Status Tell(uint64_t updates);
  // Waits for what is enqueued.
  absl::Status Wait();
  // The same where sums are part of it. UNAVAILABLE when another rank is lost meanwhile, with a sum
  // that stands still for `longest` as a sign of it: all that waited for it has ended then, with
  // nothing applied. DEADLINE_EXCEEDED where it did not end: held_.
  absl::Status WaitForRanks(std::chrono::milliseconds longest);
  // Ends the sums that wait for a lost rank; `error` comes back, or held_.
  absl::Status GiveUp(const absl::Status& error);
  // One update with the means over the ranks from the host.
  absl::Status LaunchHalves();
  absl::Status AverageOverRanks();
  // Counts what the launch of `asked` updates made; the number of the one that failed, or 0.
  uint32_t Count(uint64_t asked);
  absl::Status FailureOf(uint32_t failed) const;
  absl::StatusOr<UpdatesMade> Made(uint64_t asked);
  // What the curiosity model learned with the updates [updates() − asked, updates()).
  absl::Status CountCuriosity(uint64_t asked, UpdatesMade& made);

  template <typename T>
  absl::Status ToHost(T* to, const T* from, size_t count) const {
    VIXEN_CUDA_RETURN_IF_ERROR(
        cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream_.get()));
    return absl::OkStatus();
  }

  const DeviceUpdaterOptions device_;
  const TrainerOptions trainer_;
  const DeviceNetwork network_;
  const UpdateSettings settings_;
  PassShape shape_;
  uint64_t bytes_ = 0;
  kernels::Stream stream_;
  DeviceReplay replay_;
  TrainerMemory memory_;
  std::unique_ptr<DeviceCuriosity> curiosity_;  // null: it is not trained here
  Exchange exchange_ = Exchange::kAlone;
  // Other than OK: the stream never becomes idle, and nothing may wait for it any more.
  absl::Status held_;
  std::unique_ptr<NcclGroup> group_;  // with kGpus; outlives the graphs
  UpdateGraphs graphs_;
  kernels::DeviceBuffer<ReplayRow> last_rows_;  // [B], for GatherLast
  Told told_;

  uint64_t updates_ = 0, steps_ = 0;  // steps_: of Adam
  uint64_t sampler_ = 0;
  uint64_t last_index_ = 0;  // in its launch, of the last update that was begun
  uint64_t spoiled_ = 0;
  PriorityRejects rejects_;
  uint64_t stale_seen_ = 0;
  std::vector<UpdateStatistics> statistics_;
  Sample sample_;
  Minibatch minibatch_;
  std::vector<ReplayRow> rows_;
  std::span<const float> features_;  // of the caller
  std::vector<float> exchanged_;     // gradient and figures on the host
};

}  // namespace vixen::learner
