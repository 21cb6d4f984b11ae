// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/nn/network.h"
#include "learner/curiosity/curiosity.h"
#include "learner/device/rank_exchange.h"
#include "learner/replay/replay.h"
#include "learner/trainer/minibatch.h"
#include "learner/trainer/td_loss.h"
#include "learner/trainer/trainer_cut.h"

namespace vixen::learner {

// Updates that were made together. The spans are valid until the next call of the updater.
struct UpdatesMade {
  std::span<const UpdateStatistics> statistics;  // of each
  double effective_samples = 0;                  // Σ over them of (Σw)²/(B·Σw²)
  PriorityUpdates priorities;                    // of all
  double curiosity_loss = 0;                     // Σ over those the curiosity model learned from
  uint64_t curiosity_updates = 0;
  double sampling_seconds = 0;  // drawing and gathering; 0 where a graph does it
  // Of the last one.
  const Sample* sample = nullptr;
  std::span<const float> abs_td;   // [B]
  std::span<const float> taken_q;  // [B], before the update
};

// Replay and trainer of one device: sample → gather → forward → loss → backward → clip → Adam →
// target sync → priorities. The CPU's (host_updater.h) is the reference; the GPU's
// (learner/device/device_updater.h) does the same in one CUDA graph. One thread.
class Updater {
 public:
  virtual ~Updater() = default;

  virtual uint64_t size() const = 0;
  virtual uint64_t capacity() const = 0;
  virtual uint64_t inserted() const = 0;  // rows ever
  // Bytes that the replay takes where it is.
  virtual uint64_t replay_bytes() const = 0;
  // Where rows should lie that are inserted: anywhere else costs another copy. Lives as long as
  // this.
  virtual std::pmr::memory_resource* row_memory() = 0;
  // As Replay::Insert; `rows` may be used again afterwards. Errors of the device.
  virtual absl::Status Insert(std::span<const ReplayRow> rows) = 0;
  // As Replay::LeastShare.
  virtual absl::StatusOr<double> LeastShare() = 0;
  // β for so many updates.
  virtual double BetaAt(uint64_t updates) const = 0;
  virtual const PriorityRejects& rejects() const = 0;
  // Made ever; those before one that failed count.
  virtual uint64_t updates() const = 0;

  // The most updates that one call can make.
  virtual uint64_t updates_at_once() const = 0;
  // Between one and `most` updates. `least_share` as of Replay::Draw. DATA_LOSS when loss or
  // gradient is not finite: the weights are as before that update, its minibatch is minibatch().
  virtual absl::StatusOr<UpdatesMade> Update(uint64_t most, double least_share) = 0;
  // From here on gradients are added up on the GPUs of several ranks; a collective call, and so is
  // each Update: all make the same number of updates with the same `least_share`. Returns how many
  // bytes of the GPU the library took. FAILED_PRECONDITION where this is no GPU's, UNAVAILABLE
  // where the others did not come.
  virtual absl::StatusOr<uint64_t> JoinRanks(const NcclPlace& place) = 0;
  // From here on they go through the host, as before the first JoinRanks.
  virtual absl::Status AverageThroughHost() = 0;
  // After UNAVAILABLE from Update, a rank that is lost, or from JoinRanks: the weights are those
  // after the last whole update, and Update is FAILED_PRECONDITION until one of the two has begun
  // anew.

  // Other than OK (DEADLINE_EXCEEDED) once something on the device could not be ended: all calls
  // that would wait for it return the same at once; destroying this would wait for ever, and the
  // process should leave without (base::LeaveNow).
  virtual absl::Status Held() const { return absl::OkStatus(); }
  // Planted fault: the first reward of update number `update`, counted from 1, is not a number.
  virtual void SpoilReward(uint64_t update) = 0;
  // Of the last update, on the host.
  virtual absl::StatusOr<const Minibatch*> minibatch() = 0;
  // The curiosity model that is trained with the updates; null: another trains it, from GatherLast.
  virtual Curiosity* curiosity() { return nullptr; }
  // The rows of the last update.
  virtual absl::Status GatherLast(CuriosityMinibatch& out) = 0;

  virtual absl::StatusOr<kernels::Parameters> Export(kernels::WeightsKind kind) const = 0;
  virtual absl::StatusOr<TrainerCut> SaveTrainer() const = 0;
  virtual absl::Status RestoreTrainer(const TrainerCut& cut) = 0;
  virtual absl::Status SaveReplay(ReplayCut& cut) const = 0;
  virtual absl::Status RestoreReplay(const ReplayCut& cut) = 0;
};

}  // namespace vixen::learner
