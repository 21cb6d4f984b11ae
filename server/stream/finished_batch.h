// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/batch/batch.h"
#include "vixen/v1/batch.pb.h"

namespace vixen::server {

// What a launch left: shared, read-only, freed when the last group and the last write let go of it.
struct FinishedBatch {
  v1::BatchHeader header;  // `payload_bytes` and `delivery` are filled in for each sending
  kernels::Batch batch;    // with terms: every encoding is made from it

  uint64_t sequence() const { return header.sequence(); }
  uint64_t rows() const { return batch.statistics.valid_rows; }
};

}  // namespace vixen::server
