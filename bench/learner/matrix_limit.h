// SPDX-License-Identifier: Apache-2.0
// What bounds an update: its matrix products at the rate of one large product on the same device.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/nn/network.h"
#include "learner/device/network_layout.h"
#include "learner/trainer/device.h"

namespace vixen::bench {

// 2 · multiply-adds of an update's products, in units of 10⁹, as the algorithm is written down:
// three forward passes, and the backward pass but for the gradient of the states.
double GigaflopOfUpdate(const kernels::Architecture& architecture, double batch);

// GFLOP/s of a large product: our own on `threads` threads, or cuBLAS in `precision` (bf16: fp16,
// which is as fast), measured once a process. 0 where it cannot be had.
absl::StatusOr<double> LargeProductGflops(const learner::Devices& devices, int threads,
                                          learner::DevicePrecision precision);

}  // namespace vixen::bench
