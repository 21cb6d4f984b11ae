// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/certificates.h"

#include <grpcpp/security/tls_credentials_options.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "base/status_macros.h"

namespace vixen::transport {
namespace {

constexpr std::chrono::seconds kPeriod(1);
constexpr unsigned kProviderPeriodSeconds = 1;

}  // namespace

absl::StatusOr<Certificates*> Certificates::Open(const v1::TlsSettings& tls) {
  static std::mutex mutex;
  static auto& open = *new std::map<std::string, std::unique_ptr<Certificates>>();
  std::lock_guard lock(mutex);
  const std::string name = tls.SerializeAsString();
  if (const auto known = open.find(name); known != open.end()) return known->second.get();
  VIXEN_ASSIGN_OR_RETURN(Pem pem, ReadPem(tls));
  VIXEN_ASSIGN_OR_RETURN(MemoryFile identity, MemoryFile::Create());
  VIXEN_ASSIGN_OR_RETURN(MemoryFile authorities, MemoryFile::Create());
  std::unique_ptr<Certificates> made(
      new Certificates(tls, std::move(identity), std::move(authorities)));
  VIXEN_RETURN_IF_ERROR(made->Publish(std::move(pem)));
  const std::string identity_path = tls.tls_certificate().empty() ? "" : made->identity_.path();
  const std::string authorities_path = tls.tls_ca().empty() ? "" : made->authorities_.path();
  made->provider_ = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      identity_path, identity_path, authorities_path, kProviderPeriodSeconds);
  std::thread([certificates = made.get()] { certificates->Watch(); }).detach();
  return (open[name] = std::move(made)).get();
}

Certificates::Certificates(const v1::TlsSettings& tls, MemoryFile identity, MemoryFile authorities)
    : tls_(tls), identity_(std::move(identity)), authorities_(std::move(authorities)) {}

Certificates::State Certificates::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

absl::Status Certificates::Publish(Pem pem) {
  VIXEN_RETURN_IF_ERROR(identity_.Replace(pem.key + "\n" + pem.certificate));
  VIXEN_RETURN_IF_ERROR(authorities_.Replace(pem.authorities));
  in_use_ = std::move(pem);
  std::lock_guard lock(mutex_);
  state_.not_after = in_use_.not_after;
  return absl::OkStatus();
}

void Certificates::Watch() {
  while (true) {
    std::this_thread::sleep_for(kPeriod);
    Look();
  }
}

void Certificates::Look() {
  absl::StatusOr<Pem> pem = ReadPem(tls_);
  if (pem.ok() && *pem == in_use_) {
    last_failure_.clear();
    return;
  }
  const absl::Status status = pem.ok() ? Publish(*std::move(pem)) : pem.status();
  if (status.ok()) {
    last_failure_.clear();
    spdlog::info("tls: {} was replaced and is in use", tls_.tls_certificate());
    std::lock_guard lock(mutex_);
    ++state_.reloads;
  } else if (status.ToString() != last_failure_) {
    last_failure_ = status.ToString();
    spdlog::warn("tls: {}; the certificate in use stays", last_failure_);
    std::lock_guard lock(mutex_);
    ++state_.failures;
  }
}

std::shared_ptr<grpc::ServerCredentials> Certificates::ServerCredentials() const {
  grpc::experimental::TlsServerCredentialsOptions options(provider_);
  options.watch_identity_key_cert_pairs();
  if (!tls_.tls_ca().empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> Certificates::ChannelCredentials() const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider_);
  options.watch_root_certs();
  if (!tls_.tls_certificate().empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace vixen::transport
