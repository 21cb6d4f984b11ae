// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/collector/policy.h"
#include "server/collector/run.h"
#include "vixen/v1/weights.pb.h"

namespace vixen::server {

inline constexpr uint64_t kMostWeightsChunkBytes = 1 << 20;

// Where pushes arrive: the checks of the PushWeights grammar (weights.proto) and the memory that
// all uploads under way may take together. Thread-safe.
class WeightsIntake {
 public:
  WeightsIntake(const Run& run, Policies& policies, ActorMetrics& metrics)
      : run_(run), policies_(policies), metrics_(metrics) {}

  // Everything that the header alone can tell.
  absl::Status CheckHeader(const v1::WeightsHeader& header) const;
  // Parses, checks, stages: for the staging thread. On error nothing has changed.
  absl::StatusOr<v1::PushWeightsResponse> Apply(const v1::WeightsHeader& header,
                                                std::shared_ptr<const std::string> image);
  // Counts a refusal by its reason.
  void CountRefusal(const absl::Status& status) const;

  // RESOURCE_EXHAUSTED when the uploads under way would hold more than twice max_weights_bytes.
  absl::Status TakeMemory(uint64_t bytes);
  void GiveMemory(uint64_t bytes) { memory_ -= bytes; }

 private:
  absl::StatusOr<v1::PushWeightsResponse> ApplyEpsilon(const v1::WeightsHeader& header);

  const Run& run_;
  Policies& policies_;
  ActorMetrics& metrics_;
  std::atomic<uint64_t> memory_ = 0;
};

// One push being received: header, then chunks. Memory grows with what arrives, never with what was
// announced. Not thread-safe.
class WeightsUpload {
 public:
  explicit WeightsUpload(WeightsIntake& intake) : intake_(intake) {}
  ~WeightsUpload() { intake_.GiveMemory(taken_); }
  WeightsUpload(const WeightsUpload&) = delete;
  WeightsUpload& operator=(const WeightsUpload&) = delete;

  absl::Status Add(const v1::PushWeightsRequest& request);
  // After the last message. INVALID_ARGUMENT when less came than announced.
  absl::Status CheckComplete() const;
  absl::StatusOr<v1::PushWeightsResponse> Apply();

 private:
  WeightsIntake& intake_;
  bool has_header_ = false;
  v1::WeightsHeader header_;
  std::string image_;
  uint64_t taken_ = 0;
};

}  // namespace vixen::server
