// SPDX-License-Identifier: Apache-2.0
#include "kernels/executors/cuda_support.h"

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/cuda_collector.h"
#include "kernels/collect/cuda_dataset.h"
#include "kernels/cuda/device.h"

namespace vixen::kernels {
namespace {

constexpr int kLeastCapability = 75;  // of the architectures that are compiled for

}  // namespace

absl::StatusOr<std::string> UsableCudaDevice(int gpu) {
  VIXEN_ASSIGN_OR_RETURN(const CudaDevice device, QueryCudaDevice(gpu));
  if (device.capability() < kLeastCapability) {
    return absl::FailedPreconditionError(base::StrCat("gpu ", gpu, ", ", device.Describe(),
                                                      ", is older than sm_", kLeastCapability));
  }
  return device.Describe();
}

CollectorFactory CudaFactory(int gpu, CudaAlgorithm algorithm) {
  auto datasets = std::make_shared<DeviceDatasets>();
  return [gpu, algorithm, datasets](const CollectorOptions& options) {
    return MakeCudaCollector(options, gpu, algorithm, datasets.get());
  };
}

}  // namespace vixen::kernels
