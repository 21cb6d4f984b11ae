// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server_builder.h>

namespace vixen::transport {

// A client's compressed messages end with UNIMPLEMENTED. gRPC would unfold them before it looks at
// their size: 8 MiB of gzip become 8 GiB of memory. `gzip_responses`: the server may compress its
// own; gRPC then lets a client's gzip through, which is not unfolded and so no message.
void RefuseCompressedRequests(bool gzip_responses, grpc::ServerBuilder& builder);

}  // namespace vixen::transport
