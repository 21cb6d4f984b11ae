// SPDX-License-Identifier: Apache-2.0
#include "server/service/wire.h"

#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include "proto/transport/chunk_view.h"

namespace vixen::server {
namespace {

grpc::Slice Borrow(const std::shared_ptr<const EncodedOutgoing>& owner,
                   std::span<const std::byte> bytes) {
  // gRPC reads only; its signature has no const.
  void* data = const_cast<std::byte*>(bytes.data());
  return grpc::Slice(
      data, bytes.size(),
      [](void* held) { delete static_cast<std::shared_ptr<const EncodedOutgoing>*>(held); },
      new std::shared_ptr<const EncodedOutgoing>(owner));
}

}  // namespace

grpc::ByteBuffer ToByteBuffer(const v1::CollectResponse& response) {
  const grpc::Slice slice(response.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer ChunkToByteBuffer(const std::shared_ptr<const EncodedOutgoing>& outgoing,
                                   uint64_t offset, uint64_t size,
                                   const std::vector<std::span<const std::byte>>& parts) {
  std::vector<grpc::Slice> slices;
  slices.reserve(1 + parts.size());
  slices.emplace_back(transport::ChunkHead(offset, static_cast<uint32_t>(size)));
  for (const std::span<const std::byte> part : parts) slices.push_back(Borrow(outgoing, part));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<v1::CollectRequest> ParseCollectRequest(grpc::ByteBuffer& bytes) {
  v1::CollectRequest request;
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok() || !request.ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError("the message is not a CollectRequest");
  }
  return request;
}

}  // namespace vixen::server
