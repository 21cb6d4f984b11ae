// SPDX-License-Identifier: Apache-2.0
#include "learner/device/shared_memory.h"

#include "absl/strings/str_cat.h"
#include "learner/device/network_kernels.h"

namespace vixen::learner {
namespace {

constexpr size_t kLeastRows = 16;  // that a block of a pass can have
constexpr size_t kPadding = 16;    // of a row (RowBytes of passes.cuh)
// Of the backward pass beside its rows: what each of its 16 warps finds of the loss.
constexpr size_t kLossParts = 16 * sizeof(LossPart);

}  // namespace

absl::Status CheckSharedMemory(const DeviceNetwork& network, DevicePrecision precision,
                               size_t shared_bytes, const std::string& device) {
  const size_t element = ElementBytes(precision);
  const size_t needed = kLeastRows * (network.widest * element + kPadding) + kLossParts;
  if (needed <= shared_bytes) return absl::OkStatus();
  const size_t row = shared_bytes > kLossParts ? (shared_bytes - kLossParts) / kLeastRows : 0;
  const size_t widest = row > kPadding ? (row - kPadding) / element / 16 * 16 : 0;
  return absl::FailedPreconditionError(absl::StrCat(
      "layers ", network.widest, " wide need ", needed, " bytes of shared memory a block, ", device,
      " allows ", shared_bytes, "; take layers of at most ", widest, ", or device cpu"));
}

}  // namespace vixen::learner
