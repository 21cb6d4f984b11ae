// SPDX-License-Identifier: Apache-2.0
#include "server/service/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace vixen::server {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kLengthDelimited = 2;
constexpr uint32_t Tag(int field, uint32_t wire_type) {
  return (static_cast<uint32_t>(field) << 3) | wire_type;
}

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
                                   uint64_t offset, uint64_t size) {
  const auto length = static_cast<uint32_t>(size);
  const size_t offset_bytes = offset == 0 ? 0 : 1 + CodedOutputStream::VarintSize64(offset);
  const size_t chunk_bytes = offset_bytes + 1 + CodedOutputStream::VarintSize32(length) + size;

  std::array<uint8_t, 32> head;
  uint8_t* at = head.data();
  at = CodedOutputStream::WriteTagToArray(
      Tag(v1::CollectResponse::kChunkFieldNumber, kLengthDelimited), at);
  at = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(chunk_bytes), at);
  if (offset != 0) {
    at = CodedOutputStream::WriteTagToArray(Tag(v1::BatchChunk::kOffsetFieldNumber, 0), at);
    at = CodedOutputStream::WriteVarint64ToArray(offset, at);
  }
  at = CodedOutputStream::WriteTagToArray(Tag(v1::BatchChunk::kDataFieldNumber, kLengthDelimited),
                                          at);
  at = CodedOutputStream::WriteVarint32ToArray(length, at);

  std::vector<grpc::Slice> slices;
  slices.emplace_back(head.data(), static_cast<size_t>(at - head.data()));
  for (std::span<const std::byte> part : outgoing->encoded.Range(offset, size)) {
    slices.push_back(Borrow(outgoing, part));
  }
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
