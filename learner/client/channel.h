// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::learner {

// A channel to `address` (HOST:PORT) with this project's limits: 8 MiB messages, keepalive (half of
// it for the answer), reconnects after 0.2 … 1 s. Each call gives a connection of its own, so that weights do not
// queue behind batches. A non-loopback address without TLS is a usage error unless `insecure`.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address,
                                                           const v1::TlsSettings& tls,
                                                           double keepalive_seconds = 20);

absl::Status FromGrpc(const grpc::Status& status, const std::string& what);

// Another attempt may succeed: the peer is away, restarting, draining or evicted us.
bool IsTransient(const absl::Status& status);

void SetDeadline(grpc::ClientContext& context, std::chrono::milliseconds from_now);

}  // namespace vixen::learner
