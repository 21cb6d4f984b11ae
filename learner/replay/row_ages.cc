// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/row_ages.h"

#include <algorithm>

namespace vixen::learner {

void RowAges::Inserted(uint64_t first, uint64_t rows, Origin origin) {
  if (rows > 0) batches_.push_back({first, first + rows, origin});
}

void RowAges::Forget(uint64_t oldest) {
  while (!batches_.empty() && batches_.front().end <= oldest) batches_.pop_front();
}

std::optional<RowAges::Origin> RowAges::Of(uint64_t generation) const {
  const auto after =
      std::upper_bound(batches_.begin(), batches_.end(), generation,
                       [](uint64_t g, const Batch& batch) { return g < batch.first; });
  if (after == batches_.begin() || generation >= std::prev(after)->end) return std::nullopt;
  return std::prev(after)->origin;
}

}  // namespace vixen::learner
