// SPDX-License-Identifier: Apache-2.0
// Which instances of the passes there are: by precision, tiles a warp and rows a block.
#pragma once

#include <cuda_runtime.h>

#include "kernels/env/settings.h"
#include "learner/device/network_kernels.h"
#include "learner/device/passes.cuh"

namespace vixen::learner {

cudaError_t PrepareForward(const DeviceNetwork& network, const PassShape& shape);
cudaError_t PrepareBackward(const DeviceNetwork& network, const PassShape& shape);

// Calls `use(kernel, bytes of an element)`; cudaErrorInvalidValue where there is no such instance
// (ChoosePassShape asks for none of those).
template <typename Kernels, DevicePrecision kPrecision, typename Use>
cudaError_t WithRows(int tiles, int rows, Use&& use) {
  constexpr auto kBytes = sizeof(typename Operand<kPrecision>::Type);
  if (tiles == 4 && rows == 16) return use(Kernels::template Get<kPrecision, 4, 16>(), kBytes);
  if (tiles == 1 && rows == 16) return use(Kernels::template Get<kPrecision, 1, 16>(), kBytes);
  if constexpr (kPrecision != DevicePrecision::kFp32) {
    if (tiles == 1 && rows == 32) return use(Kernels::template Get<kPrecision, 1, 32>(), kBytes);
    if (tiles == 1 && rows == 64) return use(Kernels::template Get<kPrecision, 1, 64>(), kBytes);
  }
  return cudaErrorInvalidValue;
}

template <typename Kernels, typename Use>
cudaError_t WithPass(const PassShape& shape, int rows, Use&& use) {
  switch (shape.precision) {
    case DevicePrecision::kFp32:
      return WithRows<Kernels, DevicePrecision::kFp32>(shape.tiles, rows, use);
    case DevicePrecision::kTf32:
      return WithRows<Kernels, DevicePrecision::kTf32>(shape.tiles, rows, use);
    case DevicePrecision::kBf16:
      return WithRows<Kernels, DevicePrecision::kBf16>(shape.tiles, rows, use);
  }
  return cudaErrorInvalidValue;
}

// Shared memory of a block.
inline uint32_t PassBytes(const DeviceNetwork& network, size_t element, int rows) {
  return PassRowBytes(network.widest, static_cast<uint32_t>(element)) * static_cast<uint32_t>(rows);
}

template <typename Kernels>
cudaError_t AllowShared(const DeviceNetwork& network, const PassShape& shape, int rows) {
  return WithPass<Kernels>(shape, rows, [&](auto* kernel, size_t element) {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(PassBytes(network, element, rows)));
  });
}

template <typename Kernels>
cudaError_t LaunchPass(const DeviceNetwork& network, const PassShape& shape, int rows,
                       uint32_t parts, const UpdateSettings& settings, const UpdateBuffers& buffers,
                       cudaStream_t stream) {
  return WithPass<Kernels>(shape, rows, [&](auto* kernel, size_t element) {
    const uint32_t blocks = parts * (settings.rows / static_cast<uint32_t>(rows));
    kernel<<<blocks, kPassThreads, PassBytes(network, element, rows), stream>>>(network, settings,
                                                                                buffers);
    return cudaGetLastError();
  });
}

}  // namespace vixen::learner
