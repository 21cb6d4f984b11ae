// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/buffer_pool.h"
#include "kernels/batch/batch.h"
#include "proto/codec/column_layout.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::codec {

// A whole batch on the client's side, checked. Statistics and slot states are inside `batch`.
struct DecodedBatch {
  v1::BatchHeader header;
  v1::BatchTrailer trailer;
  kernels::Batch batch;
  std::vector<float> state;       // [N·L, S] when the encoding has it
  std::vector<float> next_state;  // [N·L, S]
};

// Assembles the messages of one Collect stream into batches. Nothing that the peer sends is
// trusted: every violation is a status that names field and value and leaves the decoder unusable
// (the caller ends the stream). DATA_LOSS: the payload's CRC-32C differs. INVALID_ARGUMENT:
// everything else (order of messages, offsets, sizes, dimensions, values). Memory is taken once a
// batch, after the header's sizes were found equal to those of the declared layout and below
// `max_payload_bytes`; a batch that was let go of gives it back for the next one. Not thread-safe.
class BatchDecoder {
 public:
  static constexpr uint64_t kDefaultMaxPayloadBytes = uint64_t{1} << 31;

  // `opened` is the stream's first message, `encoding` what was asked for in `open`.
  static absl::StatusOr<BatchDecoder> Create(const v1::Opened& opened, const v1::Encoding& encoding,
                                             uint64_t max_payload_bytes = kDefaultMaxPayloadBytes);

  // A batch when `response` was a trailer that completes one; nullopt while one is incomplete and
  // for notices.
  absl::StatusOr<std::optional<DecodedBatch>> Add(const v1::CollectResponse& response);

  // The same in parts, for callers that parse the chunks' bytes themselves.
  absl::Status Begin(const v1::BatchHeader& header);
  // `pieces` is the chunk's data in order, wherever it lies: each byte is copied once, to its
  // column.
  absl::Status AddChunk(uint64_t offset, std::span<const std::span<const std::byte>> pieces);
  absl::StatusOr<DecodedBatch> Finish(const v1::BatchTrailer& trailer);

  const ColumnLayout& layout() const { return layout_; }

 private:
  // Where a column's wire bytes go: straight into the batch, or into `halves_` first.
  struct Target {
    std::byte* data;
    uint64_t bytes;
  };

  BatchDecoder(const v1::Opened& opened, ColumnLayout layout, std::string settings_sha256);
  absl::Status CheckHeader(const v1::BatchHeader& header) const;
  absl::Status CheckChunk(uint64_t offset, uint64_t bytes) const;
  void PrepareTargets();
  void Take(std::span<const std::byte> data);
  void Widen();
  std::span<std::byte> Destination(const WireColumn& column);

  v1::Opened opened_;
  ColumnLayout layout_;
  std::string settings_sha256_;
  uint64_t payload_bytes_ = 0;
  base::BufferPool buffers_;  // of whole batches

  std::optional<DecodedBatch> current_;
  std::vector<std::byte> halves_;  // F16 columns of the current batch, in order
  std::vector<Target> targets_;
  size_t target_ = 0;
  uint64_t target_offset_ = 0;
  uint64_t received_ = 0;
  uint32_t crc32c_ = 0;
  bool failed_ = false;
};

// The rules that rows keep whoever sent them: known flags, action < 45, finite reward, portfolio
// and terms, td ≥ 0; and valid rows as the statistics count them. INVALID_ARGUMENT naming row and
// value.
absl::Status CheckRows(const kernels::Batch& batch);

}  // namespace vixen::codec
