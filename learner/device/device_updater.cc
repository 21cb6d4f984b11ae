// SPDX-License-Identifier: Apache-2.0
#include "learner/device/device_updater.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "kernels/cuda/device.h"
#include "learner/device/graph_updater.h"

namespace vixen::learner {

int UpdaterGpus() {
  const absl::StatusOr<std::vector<kernels::CudaDevice>> devices = kernels::QueryCudaDevices();
  return devices.ok() ? static_cast<int>(devices->size()) : 0;
}

absl::Status CheckDeviceUpdater(int gpu) { return kernels::QueryCudaDevice(gpu).status(); }

DevicePrecision BestDevicePrecision(int gpu) {
  const absl::StatusOr<kernels::CudaDevice> device = kernels::QueryCudaDevice(gpu);
  return device.ok() && device->capability() >= 80 ? DevicePrecision::kTf32
                                                   : DevicePrecision::kFp32;
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
