// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/batch/batch.h"
#include "kernels/env/settings.h"
#include "proto/codec/column_layout.h"

namespace vixen::codec {

// The payload of one batch in one encoding: pieces in order, borrowed from the batch where the wire
// and the memory agree (compact and terms in full precision: no copy at all), else from `owned`.
// Movable; the batch must outlive it.
struct EncodedBatch {
  std::vector<std::span<const std::byte>> pieces;
  std::vector<std::byte> owned;
  uint64_t payload_bytes = 0;

  // Of the whole payload.
  uint32_t Crc32c() const;
  // The parts of bytes [offset, offset + size) of the payload, in order.
  std::vector<std::span<const std::byte>> Range(uint64_t offset, uint64_t size) const;
};

// Gathers state and next_state from `market` (host memory) by bar and portfolio features; rows that
// are not valid give zeros. INVALID_ARGUMENT when the layout has `terms` or `slot_states` that the
// batch has not. Thread-safe; cost: the copies named above.
absl::StatusOr<EncodedBatch> EncodeBatch(const kernels::Batch& batch, const ColumnLayout& layout,
                                         const kernels::MarketView& market);

}  // namespace vixen::codec
