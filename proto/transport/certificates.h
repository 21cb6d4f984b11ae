// SPDX-License-Identifier: Apache-2.0
// TLS from files that are replaced while the program runs.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "proto/transport/memory_file.h"
#include "proto/transport/pem.h"
#include "vixen/v1/config.pb.h"

namespace vixen::transport {

// One end's certificate, key and authorities. The files are read every second; what is new is taken
// when it is good as a whole (pem.h), else the last good set stays in use: a writer may be half
// done, and two files cannot be replaced in one step. New connections use the newest good set
// within two seconds, open ones go on. Thread-safe.
class Certificates {
 public:
  struct State {
    uint64_t reloads = 0;   // new sets taken since the start
    uint64_t failures = 0;  // new sets refused; each counted once
    int64_t not_after = 0;  // of the certificate in use
  };

  // The files must be good. One object for the same files, kept to the end of the process: gRPC's
  // own threads read from it whenever they end.
  static absl::StatusOr<Certificates*> Open(const v1::TlsSettings& tls);

  State state() const;

  // Clients must show a certificate of our authorities if there are any.
  std::shared_ptr<grpc::ServerCredentials> ServerCredentials() const;
  std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials() const;

 private:
  Certificates(const v1::TlsSettings& tls, MemoryFile identity, MemoryFile authorities);
  // Makes `pem` the set in use; on failure it counts as never seen, and is tried again.
  absl::Status Publish(Pem pem);
  void Watch();  // until the process exits
  void Look();

  const v1::TlsSettings tls_;
  MemoryFile identity_;  // key and certificate in one file, so that they change together
  MemoryFile authorities_;
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;

  // Of the watching thread alone, once it runs.
  Pem in_use_;
  std::string last_failure_;

  mutable std::mutex mutex_;
  State state_;
};

}  // namespace vixen::transport
