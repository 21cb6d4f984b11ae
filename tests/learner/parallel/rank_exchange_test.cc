// SPDX-License-Identifier: Apache-2.0
#include "learner/device/rank_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vixen::learner {
namespace {

using testing::HasSubstr;

std::vector<NcclOffer> TwoGpus() {
  return {{.gpu = "aa", .version = "2.28.9"}, {.gpu = "bb", .version = "2.28.9"}};
}

TEST(RankExchange, AnOfferComesBackFromItsText) {
  const NcclOffer offer{.gpu = "aa", .version = "2.28.9", .obstacle = "one\ntwo"};
  const NcclOffer back = OfferOf(ToText(offer));
  EXPECT_EQ(back.gpu, offer.gpu);
  EXPECT_EQ(back.version, offer.version);
  EXPECT_EQ(back.obstacle, offer.obstacle);
  EXPECT_FALSE(OfferOf("nothing").obstacle.empty());
}

TEST(RankExchange, GpusOfTheirOwnMayUseNccl) { EXPECT_EQ(NcclObstacle(TwoGpus(), {0, 1}), ""); }

TEST(RankExchange, NamesTheRanksThatShareAGpu) {
  std::vector<NcclOffer> offers = TwoGpus();
  offers.push_back(offers[0]);
  EXPECT_EQ(NcclObstacle(offers, {0, 2, 5}), "ranks 0 and 5 share GPU aa");
}

TEST(RankExchange, NamesTheRankThatCannotAndWhy) {
  std::vector<NcclOffer> offers = TwoGpus();
  offers[1].obstacle = "libnccl.so.2 cannot be loaded";
  EXPECT_EQ(NcclObstacle(offers, {0, 3}), "rank 3: libnccl.so.2 cannot be loaded");
}

TEST(RankExchange, NamesTwoVersions) {
  std::vector<NcclOffer> offers = TwoGpus();
  offers[1].version = "2.30.1";
  EXPECT_EQ(NcclObstacle(offers, {0, 1}), "rank 0 has NCCL 2.28.9, rank 1 has 2.30.1");
}

TEST(RankExchange, TheSettingDecidesAndAutoTakesWhatCanBe) {
  using Settings = v1::ParallelSettings;
  EXPECT_TRUE(*UsesNccl(Settings::AUTO, ""));
  EXPECT_FALSE(*UsesNccl(Settings::AUTO, "ranks 0 and 1 share GPU aa"));
  EXPECT_TRUE(*UsesNccl(Settings::NCCL, ""));
  const absl::Status refused = UsesNccl(Settings::NCCL, "ranks 0 and 1 share GPU aa").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(),
              HasSubstr("gradient_exchange is NCCL: ranks 0 and 1 share GPU aa"));
}

TEST(RankExchange, AnIdThatCouldNotBeMadeIsToldAsNone) {
  const std::string id(kNcclIdBytes, 'x');
  EXPECT_EQ(IdToTell(id), id);
  EXPECT_TRUE(CheckToldId(id).ok());
  const std::string none = IdToTell(absl::UnavailableError("no library"));
  EXPECT_EQ(none.size(), kNcclIdBytes);
  EXPECT_EQ(CheckToldId(none).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace vixen::learner
