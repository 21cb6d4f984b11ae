// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/certificates.h"

#include <grpcpp/security/tls_credentials_options.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace vixen::transport {
namespace {

constexpr std::chrono::seconds kPeriod(1);
constexpr unsigned kProviderPeriodSeconds = 1;

// The watching threads end at exit before what they use: OpenSSL and the log have ends of their own
// there, and a look in between would find good files broken and tell it to a log that is gone.
struct Watchers {
  std::mutex mutex;
  std::condition_variable ending;
  bool exiting = false;
  std::vector<std::thread> threads;

  static Watchers& All() {
    static auto& all = *new Watchers();
    return all;
  }

  static void End() {
    Watchers& all = All();
    {
      std::lock_guard lock(all.mutex);
      all.exiting = true;
    }
    all.ending.notify_all();
    for (std::thread& thread : all.threads) thread.join();
  }
};

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
  Watchers& watchers = Watchers::All();
  // What is registered last ends first; both of what a look uses have begun by now.
  if (watchers.threads.empty() && spdlog::default_logger() != nullptr) std::atexit(Watchers::End);
  watchers.threads.emplace_back([certificates = made.get()] { certificates->Watch(); });
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
  Watchers& watchers = Watchers::All();
  std::unique_lock lock(watchers.mutex);
  while (!watchers.ending.wait_for(lock, kPeriod, [&] { return watchers.exiting; })) {
    lock.unlock();
    Look();
    lock.lock();
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
