// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/uncompressed_requests.h"

#include <grpc/compression.h>
#include <grpc/grpc.h>

namespace vixen::transport {

void RefuseCompressedRequests(bool gzip_responses, grpc::ServerBuilder& builder) {
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, gzip_responses);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

}  // namespace vixen::transport
