// SPDX-License-Identifier: Apache-2.0
// The CUDA executor: launches run asynchronously on a stream into a ring of two slots (device
// output, event), straight into the batches' pinned memory, so that launch k+1 computes while k is
// copied out.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/collect/algorithm.h"
#include "kernels/collect/collector.h"

namespace vixen::kernels {

class DeviceDatasets;

// `device` counts from 0. Two launches may be in flight; a third Launch before a Wait is
// FAILED_PRECONDITION. Errors as of CudaExecutor::Create. The memory plan is in info().
absl::StatusOr<std::unique_ptr<Collector>> MakeCudaCollector(const CollectorOptions& options,
                                                             int device, CudaAlgorithm algorithm,
                                                             DeviceDatasets* datasets = nullptr);

}  // namespace vixen::kernels
