// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_memory_plan.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/str_cat.h"
#include "kernels/collect/cuda_choice.h"
#include "kernels/collect/cuda_dataset.h"
#include "kernels/collect/cuda_weights.h"
#include "kernels/env/slot_state.h"

namespace vixen::kernels {

uint64_t MemoryPlan::total() const {
  uint64_t sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
}

std::string MemoryPlan::Describe() const {
  std::string text;
  for (const Part& part : parts) {
    absl::StrAppendFormat(&text, "%s%s %.1f MiB", text.empty() ? "" : ", ", part.name,
                          static_cast<double>(part.bytes) / (1 << 20));
  }
  absl::StrAppendFormat(&text, ": %.2f GiB of %.2f GiB free",
                        static_cast<double>(total()) / (1ull << 30),
                        static_cast<double>(free_bytes) / (1ull << 30));
  return text;
}

MemoryPlan PlanMemory(const CollectorOptions& options, CudaAlgorithm algorithm, bool dataset_there,
                      uint64_t free_bytes) {
  const bool stepped = algorithm == CudaAlgorithm::kStepped;
  const bool packed = NeedsPackedRows(algorithm, options.precision);
  const uint64_t rows = uint64_t{options.episodes} * options.steps;
  const Architecture& a = options.architecture;
  const uint64_t widest =
      std::max({a.state() + 8, a.hidden1, a.hidden2, a.value_hidden + a.advantage_hidden, 48u});
  const uint64_t stepped_rows =
      !stepped ? 0 : std::max<uint64_t>(std::min<uint64_t>(rows, 65'536), options.episodes);
  uint64_t weights = 0;
  for (const WeightsKind kind :
       {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    weights += 2 * LayOutWeights(a, kind, options.precision, FormOf(algorithm)).bytes;
  }
  MemoryPlan plan;
  plan.free_bytes = free_bytes;
  plan.parts = {
      {"dataset", dataset_there ? 0 : DeviceDataset::BytesOf(options.market, packed)},
      {"its upload", dataset_there ? 0 : DeviceDataset::UploadBytesOf(options.market)},
      {"weights", weights},
      {"slots", uint64_t{options.episodes} * sizeof(SlotState) * 3},
      {"two batches", 2 * Batch::PayloadBytes(rows, true)},
      {"rows' workspace", rows * (sizeof(RowScratch) + 4)},
      {"products", stepped_rows * (widest * 12 + 129) + (stepped ? uint64_t{32} << 20 : 0)},
  };
  return plan;
}

absl::Status MemoryPlan::CheckFits(const CollectorOptions& options, int device) const {
  if (total() <= free_bytes) return absl::OkStatus();
  const uint64_t a_slot = 2 * Batch::PayloadBytes(options.steps, true) +
                          uint64_t{options.steps} * (sizeof(RowScratch) + 4) +
                          3 * sizeof(SlotState);
  const uint64_t slots = a_slot * options.episodes;
  const uint64_t fixed = total() > slots ? total() - slots : 0;
  const uint64_t fits = free_bytes > fixed ? (free_bytes - fixed) / a_slot : 0;
  return absl::ResourceExhaustedError(base::StrCat("gpu ", device, " is too small: ", Describe(),
                                                   "; with ", options.steps, " steps about ", fits,
                                                   " episodes would fit"));
}

}  // namespace vixen::kernels
