// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::transport {

// A channel to `address` (HOST:PORT) with this project's limits: 8 MiB messages, keepalive (half of
// it for the answer), reconnects after 0.2 … 1 s. Each call gives a connection of its own, so that
// weights do not queue behind batches. Plain text to loopback or with `insecure`, else TLS by the
// files named; another address without them is a usage error.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address,
                                                           const v1::TlsSettings& tls,
                                                           double keepalive_seconds = 20);

// A call that is not over by then ends with DEADLINE_EXCEEDED.
void SetDeadline(grpc::ClientContext& context, std::chrono::milliseconds from_now);

}  // namespace vixen::transport
