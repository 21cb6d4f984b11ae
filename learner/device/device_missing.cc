// SPDX-License-Identifier: Apache-2.0
// A build without CUDA.
#include "learner/device/device_updater.h"

namespace vixen::learner {

int UpdaterGpus() { return 0; }

absl::Status CheckDeviceUpdater(int /*gpu*/) {
  return absl::UnavailableError("this build has no CUDA (preset cuda has)");
}

DevicePrecision BestDevicePrecision(int /*gpu*/) { return DevicePrecision::kFp32; }

bool TrainsCuriosity(const kernels::Architecture& /*architecture*/) { return false; }

absl::StatusOr<std::unique_ptr<Updater>> MakeDeviceUpdater(const DeviceUpdaterOptions& device,
                                                           const ReplayOptions& /*replay*/,
                                                           const TrainerOptions& /*trainer*/,
                                                           std::span<const float> /*features*/,
                                                           const kernels::Parameters& /*online*/,
                                                           const kernels::Parameters& /*target*/) {
  return CheckDeviceUpdater(device.gpu);
}

}  // namespace vixen::learner
