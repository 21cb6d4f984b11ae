// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "server/stream/finished_batch.h"

namespace vixen::server {

// A batch of one slot with `rows` valid rows.
inline std::shared_ptr<const FinishedBatch> MakeFinishedBatch(uint64_t sequence,
                                                              uint64_t rows = 1) {
  auto finished = std::make_shared<FinishedBatch>(
      FinishedBatch{.header = {}, .batch = kernels::Batch(1, static_cast<uint32_t>(rows), true)});
  finished->header.set_sequence(sequence);
  finished->batch.statistics.valid_rows = rows;
  return finished;
}

}  // namespace vixen::server
