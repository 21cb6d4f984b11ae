// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vixen::server {

// PERMISSION_DENIED naming the role, unless one of the certificate's URIs gives the role that
// `method` ("/vixen.v1.Actor/Collect") needs:
//   vixen.v1.Actor → collect, vixen.v1.Weights → push, vixen.v1.Admin → admin; other services
//   (health, reflection) → none.
// A URI gives roles as "vixen:ROLE" or as a SPIFFE id that ends in "/vixen/ROLE"; several are
// joined by "+": "spiffe://cluster.local/vixen/collect+push".
absl::Status CheckRole(std::string_view method, std::span<const std::string> uris);

// CheckRole at the start of every call on a connection whose peer showed a certificate.
class RoleCheck final : public grpc::AuthMetadataProcessor {
 public:
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* consumed, OutputMetadata* response) override;
};

}  // namespace vixen::server
