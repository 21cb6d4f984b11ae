// SPDX-License-Identifier: Apache-2.0
// Which executor runs here: the one place that knows whether this build and this machine have CUDA.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kernels/collect/algorithm.h"
#include "kernels/collect/collector.h"

namespace vixen::kernels {

enum class ExecutorKind : uint8_t { kAuto = 0, kCpu = 1, kCuda = 2 };

std::string_view ExecutorKindName(ExecutorKind kind);

// What was asked for. `gpu` counts from 0 as CUDA does (CUDA_VISIBLE_DEVICES applies).
struct ExecutorWish {
  ExecutorKind kind = ExecutorKind::kAuto;
  int gpu = 0;
  CudaAlgorithm algorithm = CudaAlgorithm::kAuto;
};

struct ChosenExecutor {
  ExecutorKind kind = ExecutorKind::kCpu;  // kCpu or kCuda
  std::string reason;                      // "no GPU here: …", "NVIDIA L4 is there", "as set"
  CollectorFactory make;                   // may be called several times, from any thread
};

// kAuto takes CUDA when this build has it and the device is there and new enough, else the CPU.
// Errors: FAILED_PRECONDITION when CUDA is asked for and not in this build; UNAVAILABLE without
// driver or device; NOT_FOUND naming `gpu`; INVALID_ARGUMENT for an algorithm of CUDA on the CPU.
absl::StatusOr<ChosenExecutor> ChooseExecutor(const ExecutorWish& wish);

}  // namespace vixen::kernels
