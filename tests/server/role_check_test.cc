// SPDX-License-Identifier: Apache-2.0
#include "server/service/role_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace vixen::server {
namespace {

using Uris = std::vector<std::string>;
using ::testing::HasSubstr;

constexpr char kCollect[] = "/vixen.v1.Actor/Collect";
constexpr char kPush[] = "/vixen.v1.Weights/PushWeights";
constexpr char kDrain[] = "/vixen.v1.Admin/Drain";

TEST(RoleCheck, TakesARoleFromAUriOfEitherForm) {
  EXPECT_TRUE(CheckRole(kCollect, Uris{"vixen:collect"}).ok());
  EXPECT_TRUE(CheckRole(kPush, Uris{"https://example.org", "vixen:push"}).ok());
  EXPECT_TRUE(CheckRole(kDrain, Uris{"spiffe://cluster.local/ns/a/vixen/admin"}).ok());
  const Uris both = {"spiffe://cluster.local/vixen/collect+push"};
  EXPECT_TRUE(CheckRole(kCollect, both).ok());
  EXPECT_TRUE(CheckRole(kPush, both).ok());
  EXPECT_FALSE(CheckRole(kDrain, both).ok());
}

TEST(RoleCheck, NamesTheRoleThatIsMissing) {
  const absl::Status status = CheckRole(kPush, Uris{"vixen:collect"});
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(),
            "vixen.v1.Weights/PushWeights needs role \"push\"; the client's certificate has "
            "vixen:collect");
  EXPECT_THAT(std::string(CheckRole(kDrain, {}).message()), HasSubstr("has no URI"));
}

TEST(RoleCheck, IsNotTakenInByWhatLooksLikeARole) {
  for (const char* uri : {"vixen:", "vixen:collecting", "vixen:Collect", "vixen: collect",
                          "https://example.org/vixen/collect", "spiffe://collect",
                          "spiffe://d/vixen/collect/other", "xvixen:collect", "collect", "+"}) {
    EXPECT_FALSE(CheckRole(kCollect, Uris{uri}).ok()) << uri;
  }
}

TEST(RoleCheck, AsksNoRoleForHealthAndReflection) {
  EXPECT_TRUE(CheckRole("/grpc.health.v1.Health/Check", {}).ok());
  EXPECT_TRUE(CheckRole("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {}).ok());
}

}  // namespace
}  // namespace vixen::server
