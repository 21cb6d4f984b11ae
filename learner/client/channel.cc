// SPDX-License-Identifier: Apache-2.0
#include "learner/client/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace vixen::learner {
namespace {

bool IsLoopback(const std::string& address) {
  return absl::StartsWith(address, "127.") || absl::StartsWith(address, "localhost:") ||
         absl::StartsWith(address, "[::1]:") || absl::StartsWith(address, "unix:");
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const std::string& address, const v1::TlsSettings& tls) {
  if (tls.tls_ca().empty()) {
    if (!IsLoopback(address) && !tls.insecure()) {
      return base::UsageError(absl::StrCat("actor ", address,
                                           " is not a loopback address: give tls_ca (and "
                                           "tls_certificate, tls_key), or insecure"));
    }
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  VIXEN_ASSIGN_OR_RETURN(options.pem_root_certs, base::ReadFile(tls.tls_ca()));
  if (!tls.tls_certificate().empty() || !tls.tls_key().empty()) {
    VIXEN_ASSIGN_OR_RETURN(options.pem_cert_chain, base::ReadFile(tls.tls_certificate()));
    VIXEN_ASSIGN_OR_RETURN(options.pem_private_key, base::ReadFile(tls.tls_key()));
  }
  return grpc::SslCredentials(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address,
                                                           const v1::TlsSettings& tls,
                                                           double keepalive_seconds) {
  VIXEN_ASSIGN_OR_RETURN(std::shared_ptr<grpc::ChannelCredentials> credentials,
                         MakeCredentials(address, tls));
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
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

absl::Status FromGrpc(const grpc::Status& status, const std::string& what) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(what, ": ", status.error_message()));
}

bool IsTransient(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInternal:  // resets and broken frames arrive as this
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAlreadyExists:  // our former stream is not gone yet
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

void SetDeadline(grpc::ClientContext& context, std::chrono::milliseconds from_now) {
  context.set_deadline(std::chrono::system_clock::now() + from_now);
}

}  // namespace vixen::learner
