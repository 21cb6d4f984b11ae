// SPDX-License-Identifier: Apache-2.0
#include "learner/device/shared_memory.h"

#include "absl/strings/str_cat.h"
#include "learner/device/network_kernels.h"

namespace vixen::learner {
namespace {

constexpr size_t kLeastRows = 16;  // that a block of a pass can have
// Of the backward pass beside its rows: what their gradient is made of (BlockLoss).
constexpr size_t kLoss = kLeastRows * (sizeof(float) + sizeof(uint32_t));

}  // namespace

absl::Status CheckSharedMemory(const DeviceNetwork& network, DevicePrecision precision,
                               size_t shared_bytes, const std::string& device) {
  const auto element = static_cast<uint32_t>(ElementBytes(precision));
  const auto needed = [&](uint32_t widest) {
    return kLeastRows * PassRowBytes(widest, element) + kLoss;
  };
  if (needed(network.widest) <= shared_bytes) return absl::OkStatus();
  uint32_t widest = network.widest;
  while (widest > 0 && needed(widest) > shared_bytes) widest -= 16;
  return absl::FailedPreconditionError(
      absl::StrCat("layers ", network.widest, " wide need ", needed(network.widest),
                   " bytes of shared memory a block, ", device, " allows ", shared_bytes,
                   "; take layers of at most ", widest, ", or device cpu"));
}

}  // namespace vixen::learner
