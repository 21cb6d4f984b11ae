// SPDX-License-Identifier: Apache-2.0
#include "server/faults.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::server {
namespace {

class FaultyCollector final : public kernels::Collector {
 public:
  FaultyCollector(const Faults& faults, std::unique_ptr<kernels::Collector> collector)
      : faults_(faults), collector_(std::move(collector)) {}

  const kernels::CollectorInfo& info() const override { return collector_->info(); }
  absl::StatusOr<kernels::WeightsProbe> StageWeights(const kernels::Parameters& weights) override {
    return collector_->StageWeights(weights);
  }
  void CommitWeights(kernels::WeightsKind kind) override { collector_->CommitWeights(kind); }
  kernels::Batch MakeBatch(bool with_terms) override { return collector_->MakeBatch(with_terms); }
  absl::Status CanLaunch() const override { return collector_->CanLaunch(); }
  absl::Status Launch(const kernels::LaunchRequest& request, kernels::Batch& batch) override {
    if (faults_.stuck_launch && request.launch >= *faults_.stuck_launch) {
      while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    }
    if (faults_.lost_device && request.launch >= *faults_.lost_device) {
      return absl::DataLossError("fault lost_device: the device is lost");
    }
    return collector_->Launch(request, batch);
  }
  absl::Status Wait(kernels::Batch& batch) override { return collector_->Wait(batch); }
  std::vector<kernels::SlotState> SlotStates() override { return collector_->SlotStates(); }

 private:
  const Faults faults_;
  const std::unique_ptr<kernels::Collector> collector_;
};

}  // namespace

absl::StatusOr<Faults> Faults::Parse(const v1::FaultSettings& settings) {
  Faults faults;
  for (const std::string& text : settings.fault()) {
    if (!settings.allow_faults()) {
      return base::UsageError(
          base::StrCat("fault is \"", text, "\": faults are for tests, and need allow_faults"));
    }
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    double number = 0;
    const bool counts = absl::SimpleAtod(value, &number) && number >= 0 && number <= 1e9;
    if (name == "slow_start" && counts) {
      faults.slow_start = std::chrono::duration<double>(number);
    } else if (name == "stuck_launch" && counts) {
      faults.stuck_launch = static_cast<uint64_t>(number);
    } else if (name == "lost_device" && counts) {
      faults.lost_device = static_cast<uint64_t>(number);
    } else if (name == "gpu_lost" && counts) {
      faults.gpu_lost = std::chrono::duration<double>(number);
    } else if (text == "forget_finish") {
      faults.forget_finish = true;
    } else if (text == "miscount") {
      faults.miscount = true;
    } else {
      return base::UsageError(base::StrCat(
          "fault is \"", text,
          "\", allowed: slow_start=SECONDS, stuck_launch=N, lost_device=N, gpu_lost=SECONDS, "
          "forget_finish, miscount"));
    }
  }
  return faults;
}

kernels::CollectorFactory WithFaults(const Faults& faults, kernels::CollectorFactory make) {
  if (!faults.stuck_launch && !faults.lost_device) return make;
  return [faults, make = std::move(make)](const kernels::CollectorOptions& options)
             -> absl::StatusOr<std::unique_ptr<kernels::Collector>> {
    VIXEN_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Collector> collector, make(options));
    return std::make_unique<FaultyCollector>(faults, std::move(collector));
  };
}

}  // namespace vixen::server
