// SPDX-License-Identifier: Apache-2.0
#include "tool/actor_channel.h"

#include <chrono>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/transport/channel.h"

namespace vixen::tool {
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToActor(const std::string& address,
                                                              const v1::TlsSettings& tls,
                                                              double seconds) {
  VIXEN_ASSIGN_OR_RETURN(auto channel, transport::MakeChannel(address, tls));
  const auto deadline = std::chrono::system_clock::now() +
                        std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  if (!channel->WaitForConnected(deadline)) {
    return absl::UnavailableError(base::StrCat("no actor answers at ", address, " within ", seconds,
                                               " s; is vixen-actor running with --listen ", address,
                                               "?"));
  }
  return channel;
}

absl::Status FromGrpc(const grpc::Status& status, const std::string& what,
                      const std::string& address) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      base::StrCat(what, " at ", address, ": ", status.error_message()));
}

}  // namespace vixen::tool
