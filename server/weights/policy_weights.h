// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/collect/collector.h"
#include "server/collector/run.h"
#include "vixen/v1/weights.pb.h"

namespace vixen::server {

inline constexpr size_t kWeightsKinds = 3;

// One accepted push, exactly as it came.
struct LiveWeights {
  v1::WeightsHeader header;
  std::shared_ptr<const std::string> image;  // safetensors
};

// What the next launch will read.
struct ActiveWeights {
  std::array<uint64_t, kWeightsKinds> versions{};  // 0: never pushed
  float epsilon = 0.0f;
};

// The weights of one policy and the executor that holds them. A push is staged into the executor's
// inactive buffer at once, also during a launch, and is live from then on in every answer; the
// collector thread swaps it in before its next launch. A version that a newer one replaces before
// any launch read it counts as skipped. After a refusal everything is as before.
class PolicyWeights {
 public:
  explicit PolicyWeights(const Run& run) : run_(run) {}

  // ABORTED: older than the live version, or the same with another SHA-256. OK otherwise.
  absl::Status CheckVersion(const v1::WeightsHeader& header) const;

  // Staging thread. `parameters` were read from `image` and checked. Makes the executor on the
  // first call. Errors: those of CheckVersion and of Collector::StageWeights.
  absl::StatusOr<v1::PushWeightsResponse> Stage(const v1::WeightsHeader& header,
                                                const kernels::Parameters& parameters,
                                                std::shared_ptr<const std::string> image);
  // A push of ε alone: FAILED_PRECONDITION before any weights.
  absl::StatusOr<v1::PushWeightsResponse> SetEpsilon(float epsilon);

  // Any thread.
  std::optional<LiveWeights> Live(kernels::WeightsKind kind) const;
  uint64_t LiveVersion(kernels::WeightsKind kind) const;
  float epsilon() const;
  uint64_t skipped() const;
  bool any() const;
  // "" when every kind that launches need was pushed, else "online, target".
  std::string Missing() const;

  // Collector thread: nullptr before the first push.
  kernels::Collector* collector() const;
  // Collector thread, between launches: swaps in what was staged. While a push is being staged
  // right now the launch goes on with the weights it has.
  ActiveWeights Swap();

 private:
  struct Slot {
    std::optional<LiveWeights> live;
    v1::PushWeightsResponse answer;  // to a repeated push of the same version
    bool committed = true;
  };

  absl::StatusOr<bool> AlreadyLiveLocked(const v1::WeightsHeader& header) const;
  void RestoreStaged(kernels::Collector& collector, kernels::WeightsKind kind);

  const Run& run_;
  // Held while the executor's inactive buffers are written or swapped; taken before mutex_.
  std::mutex stage_mutex_;
  mutable std::mutex mutex_;
  std::unique_ptr<kernels::Collector> collector_;
  std::array<Slot, kWeightsKinds> slots_;
  float epsilon_ = 0.0f;
  uint64_t skipped_ = 0;
  ActiveWeights active_;
};

}  // namespace vixen::server
