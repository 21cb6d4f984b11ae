// SPDX-License-Identifier: Apache-2.0
#include "learner/device/device_updater.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/cuda/device.h"
#include "learner/device/curiosity.h"
#include "learner/device/graph_updater.h"

namespace vixen::learner {

namespace {

constexpr int kLeastCapability = 75;  // what the kernels are compiled for

}  // namespace

int UpdaterGpus() {
  const absl::StatusOr<std::vector<kernels::CudaDevice>> devices = kernels::QueryCudaDevices();
  if (!devices.ok()) return 0;
  const bool all = std::ranges::all_of(*devices, [](const kernels::CudaDevice& device) {
    return device.capability() >= kLeastCapability;
  });
  return all ? static_cast<int>(devices->size()) : 0;
}

absl::Status CheckDeviceUpdater(int gpu) {
  VIXEN_ASSIGN_OR_RETURN(const kernels::CudaDevice device, kernels::QueryCudaDevice(gpu));
  if (device.capability() >= kLeastCapability) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("GPU ", gpu, " has compute capability ", device.capability() / 10, ".",
                   device.capability() % 10, ", 7.5 or higher is needed"));
}

DevicePrecision BestDevicePrecision(int gpu) {
  const absl::StatusOr<kernels::CudaDevice> device = kernels::QueryCudaDevice(gpu);
  return device.ok() && device->capability() >= 80 ? DevicePrecision::kTf32
                                                   : DevicePrecision::kFp32;
}

bool TrainsCuriosity(const kernels::Architecture& architecture) {
  return architecture.curiosity_hidden <= CuriosityView::kMostHidden;
}

absl::StatusOr<std::unique_ptr<Updater>> MakeDeviceUpdater(const DeviceUpdaterOptions& device,
                                                           const ReplayOptions& replay,
                                                           const TrainerOptions& trainer,
                                                           std::span<const float> features,
                                                           const kernels::Parameters& online,
                                                           const kernels::Parameters& target) {
  auto updater = std::make_unique<GraphUpdater>(device, trainer);
  VIXEN_RETURN_IF_ERROR(updater->Start(replay, features, online, target));
  return updater;
}

}  // namespace vixen::learner
