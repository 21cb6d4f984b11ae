// SPDX-License-Identifier: Apache-2.0
#include "tool/actor_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>

#include "base/exit_code.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "proto/config/address.h"

namespace vixen::tool {
namespace {

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(
    const std::string& address, const v1::TlsSettings& tls) {
  VIXEN_ASSIGN_OR_RETURN(const config::Address parsed, config::ParseAddress(address));
  if (tls.tls_ca().empty()) {
    if (!parsed.IsLoopback() && !tls.insecure()) {
      return base::UsageError(base::StrCat("--actor ", address,
                                           ": not a loopback address; give --tls_ca, or --insecure "
                                           "to go without TLS"));
    }
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  VIXEN_ASSIGN_OR_RETURN(options.pem_root_certs, base::ReadFile(tls.tls_ca()));
  if (!tls.tls_certificate().empty()) {
    VIXEN_ASSIGN_OR_RETURN(options.pem_cert_chain, base::ReadFile(tls.tls_certificate()));
    VIXEN_ASSIGN_OR_RETURN(options.pem_private_key, base::ReadFile(tls.tls_key()));
  }
  return grpc::SslCredentials(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToActor(const std::string& address,
                                                              const v1::TlsSettings& tls,
                                                              double seconds) {
  VIXEN_ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(address, tls));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(8 << 20);
  // Proxy variables are meant for the web, not for loopback or a cluster of one's own.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  auto channel = grpc::CreateCustomChannel(address, credentials, arguments);
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
