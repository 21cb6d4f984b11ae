// SPDX-License-Identifier: Apache-2.0
#include "server/service/role_check.h"

#include <grpc/grpc_security_constants.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/str_cat.h"
#include "server/service/status.h"

namespace vixen::server {
namespace {

constexpr std::string_view kScheme = "vixen:";
constexpr std::string_view kSpiffe = "spiffe://";
constexpr std::string_view kFolder = "/vixen/";
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kRoles = {{
    {"/vixen.v1.Actor/", "collect"},
    {"/vixen.v1.Weights/", "push"},
    {"/vixen.v1.Admin/", "admin"},
}};

// "collect+push" of a URI; empty when it speaks of something else.
std::string_view RolesOf(std::string_view uri) {
  if (uri.starts_with(kScheme)) return uri.substr(kScheme.size());
  if (!uri.starts_with(kSpiffe)) return {};
  const size_t folder = uri.rfind(kFolder);
  return folder == std::string_view::npos ? std::string_view()
                                          : uri.substr(folder + kFolder.size());
}

bool Gives(std::string_view uri, std::string_view role) {
  std::string_view left = RolesOf(uri);
  while (!left.empty()) {
    const size_t end = std::min(left.find('+'), left.size());
    if (left.substr(0, end) == role) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

}  // namespace

absl::Status CheckRole(std::string_view method, std::span<const std::string> uris) {
  for (const auto& [service, role] : kRoles) {
    if (!method.starts_with(service)) continue;
    for (const std::string& uri : uris) {
      if (Gives(uri, role)) return absl::OkStatus();
    }
    return absl::PermissionDeniedError(
        base::StrCat(method.substr(1), " needs role \"", role, "\"; the client's certificate has ",
                     uris.empty() ? "no URI" : absl::StrJoin(uris, ", ")));
  }
  return absl::OkStatus();
}

grpc::Status RoleCheck::Process(const InputMetadata& metadata, grpc::AuthContext* context,
                                OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) {
  const auto path = metadata.find(":path");
  if (path == metadata.end()) {
    return {grpc::StatusCode::PERMISSION_DENIED, "the call names no method"};
  }
  std::vector<std::string> uris;
  for (const grpc::string_ref& uri : context->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    uris.emplace_back(uri.data(), uri.size());
  }
  return ToGrpc(CheckRole({path->second.data(), path->second.size()}, uris));
}

}  // namespace vixen::server
