// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::tool {

// A connected channel to an actor. Plain text to loopback or with `insecure`, else TLS by the
// certificates named. UNAVAILABLE naming the address when nobody answers within `seconds`.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToActor(const std::string& address,
                                                              const v1::TlsSettings& tls,
                                                              double seconds = 10);

// For calls of one question and one answer.
constexpr std::chrono::seconds kAnswerDeadline{5};

// gRPC's code with "<what> at <address>: <message>".
absl::Status FromGrpc(const grpc::Status& status, const std::string& what,
                      const std::string& address);

}  // namespace vixen::tool
