// SPDX-License-Identifier: Apache-2.0
// An executor without arithmetic: rows are valid and zero but for their bar, weights are kept as
// their digest. Tests steer it through FakeControl.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/collect/collector.h"
#include "server/collector/run.h"

namespace vixen::server {

// Shared by all fake executors of a test. Thread-safe.
struct FakeControl {
  std::atomic<int> fail_launches = 0;  // that many launches fail
  std::atomic<int> fail_stagings = 0;
  std::atomic<bool> lose_device = false;
  std::atomic<int> launches = 0;
  std::atomic<int> commits = 0;
  std::atomic<int> made = 0;

  // While closed, launches wait inside Launch.
  void CloseGate() {
    std::lock_guard lock(mutex);
    open = false;
  }
  void OpenGate() {
    std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  void PassGate() {
    std::unique_lock lock(mutex);
    ++waiting;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    --waiting;
  }
  void WaitUntilInside() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return waiting > 0; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  int waiting = 0;
};

class FakeCollector final : public kernels::Collector {
 public:
  FakeCollector(const kernels::CollectorOptions& options, FakeControl& control)
      : options_(options), control_(control) {
    info_.executor = "cpu";
    info_.device = "fake";
    info_.algorithm = "none";
    ++control_.made;
  }

  const kernels::CollectorInfo& info() const override { return info_; }

  absl::StatusOr<kernels::WeightsProbe> StageWeights(
      const kernels::Parameters& parameters) override {
    if (control_.fail_stagings > 0) {
      --control_.fail_stagings;
      return absl::InternalError("the device is on strike");
    }
    kernels::WeightsProbe probe;
    probe.values = {parameters.values.front()};
    probe.sha256 = kernels::ParametersSha256(parameters);
    probe.precision = kernels::Precision::kFp32;
    return probe;
  }
  void CommitWeights(kernels::WeightsKind kind) override {
    committed_[static_cast<size_t>(kind)] = true;
    ++control_.commits;
  }
  kernels::Batch MakeBatch(bool with_terms) override {
    return kernels::Batch(options_.episodes, options_.steps, with_terms);
  }
  absl::Status CanLaunch() const override {
    if (lost_) return absl::DataLossError("the device is lost");
    const bool curiosity = options_.settings.curiosity_max == 0.0f || committed_[2];
    return committed_[0] && committed_[1] && curiosity
               ? absl::OkStatus()
               : absl::FailedPreconditionError("weights are missing");
  }
  absl::Status Launch(const kernels::LaunchRequest& request, kernels::Batch& batch) override {
    control_.PassGate();
    ++control_.launches;
    if (control_.lose_device) {
      lost_ = true;
      return absl::DataLossError("the device is lost");
    }
    if (control_.fail_launches > 0) {
      --control_.fail_launches;
      return absl::InternalError("the launch was lost");
    }
    const kernels::BatchView view = batch.view();
    for (size_t row = 0; row < batch.rows(); ++row) {
      view.bar[row] = static_cast<uint32_t>(request.launch);
      view.flags[row] = kernels::kFlagValid;
    }
    batch.statistics.valid_rows = batch.rows();
    if (options_.settings.carry_over) batch.start_states.resize(batch.episodes());
    return absl::OkStatus();
  }
  absl::Status Wait(kernels::Batch& /*batch*/) override { return absl::OkStatus(); }
  std::vector<kernels::SlotState> SlotStates() override { return {}; }

 private:
  kernels::CollectorOptions options_;
  FakeControl& control_;
  kernels::CollectorInfo info_;
  std::array<bool, 3> committed_{};
  bool lost_ = false;
};

inline kernels::CollectorFactory MakeFakes(FakeControl& control) {
  return [&control](const kernels::CollectorOptions& options)
             -> absl::StatusOr<std::unique_ptr<kernels::Collector>> {
    return std::make_unique<FakeCollector>(options, control);
  };
}

}  // namespace vixen::server
