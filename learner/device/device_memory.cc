// SPDX-License-Identifier: Apache-2.0
#include "learner/device/device_memory.h"

#include "absl/strings/str_cat.h"

namespace vixen::learner {
namespace {

// Networks, and what CUDA takes by itself.
constexpr uint64_t kOwn = 512ull << 20;

}  // namespace

absl::Status CheckDeviceMemory(const MemoryNeed& need, const MemoryThere& there) {
  const uint64_t rest = kOwn + need.minibatches;
  if (need.replay <= there.free && rest + need.nccl <= there.free - need.replay) {
    return absl::OkStatus();
  }
  const auto mib = [](uint64_t bytes) { return bytes >> 20; };
  return absl::FailedPreconditionError(absl::StrCat(
      "capacity ", need.capacity, " needs ", mib(need.replay), " MiB for rows, priorities and the ",
      "dataset's features, ",
      need.nccl > 0
          ? absl::StrCat(mib(need.nccl), " MiB for NCCL (none with gradient_exchange ", "GLOO), ")
          : "",
      "and ", mib(rest), " MiB for the rest; gpu ", there.gpu, " has ", mib(there.free), " of ",
      mib(there.all), " MiB free; lower capacity or take device cpu"));
}

}  // namespace vixen::learner
