// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/env/settings.h"
#include "proto/codec/column_layout.h"
#include "server/service/wire.h"
#include "server/stream/group.h"

namespace vixen::server {

// Whether a batch must be copied into this encoding: work for another thread than the stream's.
bool NeedsCopy(const v1::Encoding& encoding);
absl::StatusOr<std::shared_ptr<const EncodedOutgoing>> EncodeOutgoing(
    const Outgoing& outgoing, const codec::ColumnLayout& layout, const kernels::MarketView& market);

// One batch on its way as header, chunks and trailer. Chunks point into the batch, which lives as
// long as gRPC holds one of them. Not thread-safe.
class BatchMessages {
 public:
  // `delivery`: 1 for the first sending, counted over streams.
  BatchMessages(std::shared_ptr<const EncodedOutgoing> batch, uint32_t delivery,
                uint64_t chunk_bytes)
      : batch_(std::move(batch)), delivery_(delivery), chunk_bytes_(chunk_bytes) {}

  // The next message. REQUIRES: !done().
  grpc::ByteBuffer Next();
  // Payload bytes in the message that Next gave last.
  uint64_t last_bytes() const { return last_bytes_; }
  // The trailer was given.
  bool done() const { return done_; }

 private:
  grpc::ByteBuffer Header();
  grpc::ByteBuffer Chunk();
  grpc::ByteBuffer Trailer();

  const std::shared_ptr<const EncodedOutgoing> batch_;
  const uint32_t delivery_;
  const uint64_t chunk_bytes_;
  bool begun_ = false;
  bool done_ = false;
  uint64_t sent_bytes_ = 0;  // of the payload
  uint64_t last_bytes_ = 0;
  uint32_t crc32c_ = 0;  // of what was sent
};

}  // namespace vixen::server
