// SPDX-License-Identifier: Apache-2.0
#include "server/service/batch_messages.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/status_macros.h"
#include "proto/codec/convert.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::server {

bool NeedsCopy(const v1::Encoding& encoding) {
  return encoding.state() || encoding.fp16() || encoding.slot_states();
}

absl::StatusOr<std::shared_ptr<const EncodedOutgoing>> EncodeOutgoing(
    const Outgoing& outgoing, const codec::ColumnLayout& layout,
    const kernels::MarketView& market) {
  auto encoded = std::make_shared<EncodedOutgoing>();
  encoded->batch = outgoing.batch;
  VIXEN_ASSIGN_OR_RETURN(encoded->encoded,
                         codec::EncodeBatch(outgoing.batch->batch, layout, market));
  return encoded;
}

grpc::ByteBuffer BatchMessages::Next() {
  last_bytes_ = 0;
  if (!std::exchange(begun_, true)) return Header();
  return sent_bytes_ < batch_->encoded.payload_bytes ? Chunk() : Trailer();
}

grpc::ByteBuffer BatchMessages::Header() {
  v1::CollectResponse response;
  v1::BatchHeader& header = *response.mutable_header();
  header = batch_->batch->header;
  header.set_delivery(delivery_);
  header.set_payload_bytes(batch_->encoded.payload_bytes);
  return ToByteBuffer(response);
}

grpc::ByteBuffer BatchMessages::Chunk() {
  const codec::EncodedBatch& encoded = batch_->encoded;
  last_bytes_ = std::min<uint64_t>(chunk_bytes_, encoded.payload_bytes - sent_bytes_);
  const std::vector<std::span<const std::byte>> parts = encoded.Range(sent_bytes_, last_bytes_);
  // Now, as the bytes are sent: they are in the cache then.
  for (const std::span<const std::byte> part : parts) crc32c_ = base::ExtendCrc32c(crc32c_, part);
  grpc::ByteBuffer chunk = ChunkToByteBuffer(batch_, sent_bytes_, last_bytes_, parts);
  sent_bytes_ += last_bytes_;
  return chunk;
}

grpc::ByteBuffer BatchMessages::Trailer() {
  v1::CollectResponse response;
  response.mutable_trailer()->set_crc32c(crc32c_);
  *response.mutable_trailer()->mutable_statistics() =
      codec::ToProto(batch_->batch->batch.statistics);
  done_ = true;
  return ToByteBuffer(response);
}

}  // namespace vixen::server
