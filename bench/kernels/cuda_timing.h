// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "kernels/cuda/stream.h"

namespace vixen::bench {

// Median milliseconds by events of `repeats` runs of work(i), which enqueues on `stream` and
// returns a status; two runs before them warm up.
template <typename Work>
absl::StatusOr<double> MedianMilliseconds(cudaStream_t stream, int repeats, const Work& work) {
  constexpr int kWarmUps = 2;
  kernels::Event begin, end;
  VIXEN_RETURN_IF_ERROR(kernels::CreateEvent(begin, true));
  VIXEN_RETURN_IF_ERROR(kernels::CreateEvent(end, true));
  std::vector<float> times;
  for (int i = 0; i < repeats + kWarmUps; ++i) {
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(begin.get(), stream));
    VIXEN_RETURN_IF_ERROR(work(i));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(end.get(), stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventSynchronize(end.get()));
    float ms = 0;
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventElapsedTime(&ms, begin.get(), end.get()));
    if (i >= kWarmUps) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace vixen::bench
