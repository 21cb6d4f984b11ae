// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>

#include "base/exit_code.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/address.h"
#include "proto/transport/certificates.h"

namespace vixen::transport {
namespace {

grpc::ChannelArguments Arguments(double keepalive_seconds) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(8 << 20);
  arguments.SetMaxSendMessageSize(8 << 20);
  const int keepalive = static_cast<int>(keepalive_seconds * 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, std::max(1, keepalive / 2));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // An actor that is back is found within a second; one attempt that hears nothing holds up the
  // next no longer than three.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 3'000);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1'000);
  arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, 4 << 20);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Proxy variables are meant for the web, not for a cluster's own traffic.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address,
                                                           const v1::TlsSettings& tls,
                                                           double keepalive_seconds) {
  const grpc::ChannelArguments arguments = Arguments(keepalive_seconds);
  if (tls.tls_ca().empty()) {
    VIXEN_ASSIGN_OR_RETURN(const config::Address parsed, config::ParseAddress(address));
    if (!parsed.IsLoopback() && !tls.insecure()) {
      return base::UsageError(base::StrCat(
          "actor ", address,
          " is not a loopback address: give tls_ca (and tls_certificate, tls_key), or insecure"));
    }
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }
  VIXEN_ASSIGN_OR_RETURN(const Certificates* certificates, Certificates::Open(tls));
  return grpc::CreateCustomChannel(address, certificates->ChannelCredentials(), arguments);
}

void SetDeadline(grpc::ClientContext& context, std::chrono::milliseconds from_now) {
  context.set_deadline(std::chrono::system_clock::now() + from_now);
}

}  // namespace vixen::transport
