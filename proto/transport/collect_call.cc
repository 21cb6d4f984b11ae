// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/collect_call.h"

#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <vector>

#include "base/status_macros.h"
#include "proto/transport/chunk_view.h"

namespace vixen::transport {

CollectCall::CollectCall(grpc::ChannelInterface& channel, grpc::ClientContext& context) {
  // As the generated stub does it, but for the type of the responses.
  const grpc::internal::RpcMethod method("/vixen.v1.Actor/Collect",
                                         grpc::internal::RpcMethod::BIDI_STREAMING);
  using Factory = grpc::internal::ClientReaderWriterFactory<v1::CollectRequest, grpc::ByteBuffer>;
  stream_.reset(Factory::Create(&channel, method, &context));
}

grpc::Status CollectCall::Finish() {
  grpc::ByteBuffer rest;
  while (stream_->Read(&rest)) {
  }
  return stream_->Finish();
}

absl::Status Parse(const grpc::ByteBuffer& message, v1::CollectResponse& response) {
  grpc::ByteBuffer bytes = message;
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok() || !response.ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError("the message is not a CollectResponse");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<codec::DecodedBatch>> AddTo(codec::BatchDecoder& decoder,
                                                         const grpc::ByteBuffer& message,
                                                         v1::CollectResponse& response) {
  response.Clear();
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) {
    return absl::InvalidArgumentError("the message is not a CollectResponse");
  }
  std::vector<Bytes> pieces;
  pieces.reserve(slices.size());
  for (const grpc::Slice& slice : slices) {
    pieces.push_back({reinterpret_cast<const std::byte*>(slice.begin()), slice.size()});
  }
  if (const std::optional<ChunkView> chunk = ViewChunk(pieces)) {
    VIXEN_RETURN_IF_ERROR(decoder.AddChunk(chunk->offset, chunk->data));
    return std::nullopt;
  }
  VIXEN_RETURN_IF_ERROR(Parse(message, response));
  return decoder.Add(response);
}

}  // namespace vixen::transport
