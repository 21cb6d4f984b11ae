// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "proto/transport/channel.h"

namespace vixen::learner {

using transport::MakeChannel;
using transport::SetDeadline;

absl::Status FromGrpc(const grpc::Status& status, const std::string& what);

// Another attempt may succeed: the peer is away, restarting, draining or evicted us.
bool IsTransient(const absl::Status& status);

}  // namespace vixen::learner
