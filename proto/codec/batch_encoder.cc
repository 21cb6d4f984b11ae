// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/batch_encoder.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/crc32c.h"
#include "kernels/env/slot_state.h"
#include "proto/codec/half.h"

namespace vixen::codec {
namespace {

// A column's floats may begin at any byte (columns are packed), so they are copied out, not cast.
void ColumnToHalves(std::span<const std::byte> bytes, std::byte* out) {
  std::array<float, 1024> floats;
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), sizeof(floats));
    std::memcpy(floats.data(), bytes.data(), taken);
    FloatsToHalves({floats.data(), taken / sizeof(float)}, reinterpret_cast<uint16_t*>(out));
    bytes = bytes.subspan(taken);
    out += taken / 2;
  }
}

// One row after another: features of the row's bar (or the next one) and its portfolio features.
class StateRows {
 public:
  StateRows(const kernels::Batch& batch, const kernels::MarketView& market, bool next)
      : market_(market),
        next_(next),
        bars_(reinterpret_cast<const uint32_t*>(batch.Column(kernels::ColumnId::kBar).data())),
        flags_(reinterpret_cast<const uint8_t*>(batch.Column(kernels::ColumnId::kFlags).data())),
        portfolio_(batch.Column(next ? kernels::ColumnId::kNextPortfolio
                                     : kernels::ColumnId::kPortfolio)) {}

  void Row(size_t row, float* state) const {
    const size_t width = market_.feature_count;
    if ((flags_[row] & kernels::kFlagValid) == 0) {
      std::fill_n(state, width + kernels::kPortfolioFeatures, 0.0f);
      return;
    }
    const size_t bar = size_t{bars_[row]} + (next_ ? 1 : 0);
    std::copy_n(market_.features + bar * width, width, state);
    constexpr size_t kBytes = kernels::kPortfolioFeatures * sizeof(float);
    std::memcpy(state + width, portfolio_.data() + row * kBytes, kBytes);
  }

 private:
  const kernels::MarketView& market_;
  bool next_;
  const uint32_t* bars_;
  const uint8_t* flags_;
  std::span<const std::byte> portfolio_;
};

void WriteStates(const StateRows& rows, size_t count, const WireColumn& column, std::byte* out) {
  std::vector<float> state(column.width);
  const size_t row_bytes = size_t{column.width} * kernels::ElementBytes(column.type);
  for (size_t row = 0; row < count; ++row, out += row_bytes) {
    rows.Row(row, state.data());
    if (column.type == kernels::ElementType::kF16) {
      FloatsToHalves(state, reinterpret_cast<uint16_t*>(out));
    } else {
      std::memcpy(out, state.data(), row_bytes);
    }
  }
}

// Adds a piece, joining it with the one before when they touch in memory.
void Append(std::vector<std::span<const std::byte>>& pieces, std::span<const std::byte> piece) {
  if (piece.empty()) return;
  if (!pieces.empty() && pieces.back().data() + pieces.back().size() == piece.data()) {
    pieces.back() = {pieces.back().data(), pieces.back().size() + piece.size()};
    return;
  }
  pieces.push_back(piece);
}

bool IsCopied(const WireColumn& column) {
  return !column.id || column.type == kernels::ElementType::kF16;
}

}  // namespace

std::vector<std::span<const std::byte>> EncodedBatch::Range(uint64_t offset, uint64_t size) const {
  std::vector<std::span<const std::byte>> parts;
  for (std::span<const std::byte> piece : pieces) {
    if (size == 0) break;
    if (offset >= piece.size()) {
      offset -= piece.size();
      continue;
    }
    const uint64_t taken = std::min<uint64_t>(size, piece.size() - offset);
    parts.push_back(piece.subspan(offset, taken));
    offset = 0;
    size -= taken;
  }
  return parts;
}

uint32_t EncodedBatch::Crc32c() const {
  uint32_t crc = 0;
  for (const std::span<const std::byte> piece : pieces) crc = base::ExtendCrc32c(crc, piece);
  return crc;
}

absl::StatusOr<EncodedBatch> EncodeBatch(const kernels::Batch& batch, const ColumnLayout& layout,
                                         const kernels::MarketView& market) {
  if (layout.encoding().terms() && !batch.with_terms()) {
    return absl::InvalidArgumentError("the encoding has terms, this batch was computed without");
  }
  if (layout.encoding().slot_states() && batch.start_states.size() != batch.episodes()) {
    return absl::InvalidArgumentError(
        "the encoding has slot_states, which exist with carry_over only");
  }
  EncodedBatch encoded;
  size_t owned_bytes = 0;
  for (const WireColumn& column : layout.columns()) {
    if (IsCopied(column)) owned_bytes += column.Bytes(batch.episodes(), batch.steps());
  }
  // Pieces point into it: sized once, never grown.
  encoded.owned.resize(owned_bytes);
  std::byte* out = encoded.owned.data();
  for (const WireColumn& column : layout.columns()) {
    const size_t bytes = column.Bytes(batch.episodes(), batch.steps());
    if (!IsCopied(column)) {
      Append(encoded.pieces, batch.Column(*column.id));
      continue;
    }
    if (column.id) {
      ColumnToHalves(batch.Column(*column.id), out);
    } else if (column.name == kSlotStatesColumn) {
      std::memcpy(out, batch.start_states.data(), bytes);
    } else {
      WriteStates(StateRows(batch, market, column.name == kNextStateColumn), batch.rows(), column,
                  out);
    }
    Append(encoded.pieces, {out, bytes});
    out += bytes;
  }
  for (std::span<const std::byte> piece : encoded.pieces) {
    encoded.payload_bytes += piece.size();
  }
  return encoded;
}

}  // namespace vixen::codec
