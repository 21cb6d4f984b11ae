// SPDX-License-Identifier: Apache-2.0
// CollectResponse as bytes. Chunks point into the batch: gRPC's slices keep it alive until the last
// byte has left.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/codec/batch_encoder.h"
#include "server/stream/finished_batch.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::server {

// A batch in the encoding of one stream.
struct EncodedOutgoing {
  std::shared_ptr<const FinishedBatch> batch;
  codec::EncodedBatch encoded;
};

grpc::ByteBuffer ToByteBuffer(const v1::CollectResponse& response);
// Payload bytes [offset, offset + size), which are `parts` of the batch, as CollectResponse.chunk.
grpc::ByteBuffer ChunkToByteBuffer(const std::shared_ptr<const EncodedOutgoing>& outgoing,
                                   uint64_t offset, uint64_t size,
                                   const std::vector<std::span<const std::byte>>& parts);
// INVALID_ARGUMENT when the bytes are not a CollectRequest.
absl::StatusOr<v1::CollectRequest> ParseCollectRequest(grpc::ByteBuffer& bytes);

}  // namespace vixen::server
