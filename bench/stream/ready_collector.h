// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "base/buffer_pool.h"
#include "kernels/collect/collector.h"

namespace vixen::bench {

// An executor whose rows are ready: what is measured behind it is the transport alone. Every batch
// holds the same valid rows, written once into each buffer.
class ReadyCollector final : public kernels::Collector {
 public:
  explicit ReadyCollector(const kernels::CollectorOptions& options);

  const kernels::CollectorInfo& info() const override { return info_; }
  kernels::Batch MakeBatch(bool with_terms) override;
  absl::StatusOr<kernels::WeightsProbe> StageWeights(
      const kernels::Parameters& parameters) override;
  void CommitWeights(kernels::WeightsKind kind) override;
  absl::Status CanLaunch() const override;
  absl::Status Launch(const kernels::LaunchRequest& request, kernels::Batch& batch) override;
  absl::Status Wait(kernels::Batch& batch) override;
  std::vector<kernels::SlotState> SlotStates() override { return {}; }

 private:
  const kernels::CollectorOptions options_;
  base::BufferPool buffers_;
  kernels::CollectorInfo info_;
  bool online_ = false;
  bool target_ = false;
};

absl::StatusOr<std::unique_ptr<kernels::Collector>> MakeReadyCollector(
    const kernels::CollectorOptions& options);

}  // namespace vixen::bench
