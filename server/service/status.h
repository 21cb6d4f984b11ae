// SPDX-License-Identifier: Apache-2.0
// The one border where a status of ours becomes gRPC's.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace vixen::server {

// The codes have the same numbers and meanings. `error_details` stays empty: the message says it.
inline grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace vixen::server
