// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "proto/transport/channel.h"

namespace vixen::learner {

using transport::MakeChannel;

absl::Status FromGrpc(const grpc::Status& status, const std::string& what);

// Another attempt may succeed: the peer is away, restarting, draining or evicted us.
bool IsTransient(const absl::Status& status);

void SetDeadline(grpc::ClientContext& context, std::chrono::milliseconds from_now);

}  // namespace vixen::learner
