// SPDX-License-Identifier: Apache-2.0
// The client's end of Actor.Collect, with the messages as gRPC received them: a chunk's bytes go
// from the transport's buffers into the batch's columns without a copy between.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "proto/codec/batch_decoder.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::transport {

// One call. Reads and writes block; one thread may read while another one writes.
class CollectCall {
 public:
  // Both must outlive the call.
  CollectCall(grpc::ChannelInterface& channel, grpc::ClientContext& context);

  // False when the call has ended: Finish() says why.
  bool Write(const v1::CollectRequest& request) { return stream_->Write(request); }
  bool WritesDone() { return stream_->WritesDone(); }
  bool Read(grpc::ByteBuffer& message) { return stream_->Read(&message); }
  // Reads what is left first, as gRPC demands.
  grpc::Status Finish();

 private:
  std::unique_ptr<grpc::ClientReaderWriter<v1::CollectRequest, grpc::ByteBuffer>> stream_;
};

// INVALID_ARGUMENT when the bytes are not a CollectResponse.
absl::Status Parse(const grpc::ByteBuffer& message, v1::CollectResponse& response);

// `message` into `decoder`, as BatchDecoder::Add. A chunk is read where it lies and leaves
// `response` empty; any other message is parsed into `response`.
absl::StatusOr<std::optional<codec::DecodedBatch>> AddTo(codec::BatchDecoder& decoder,
                                                         const grpc::ByteBuffer& message,
                                                         v1::CollectResponse& response);

}  // namespace vixen::transport
