// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "market/synth/bed_dataset.h"
#include "market/synth/bed_settings.h"

namespace vixen::market {
namespace {

std::unique_ptr<Bed> Make(const std::string& name) { return *MakeBed(name, {}); }

TEST(SynthDataset, PricesAreTheExponentialOfTheLevel) {
  for (const std::string& name : BedNames()) {
    const auto bed = Make(name);
    const auto evaluation = MakeBedEvaluation(*bed, 999'000, 3, 50, 0);
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    const Dataset& dataset = *evaluation->dataset;
    ASSERT_EQ(dataset.bars(), 3u * 51);
    for (size_t i = 0; i < 3; ++i) {
      for (size_t t = 0; t < 50; ++t) {
        const float* row = &dataset.targets()[(i * 51 + t) * 4];
        const double scale = bed->traits().price_scale;
        EXPECT_FLOAT_EQ(row[0],
                        static_cast<float>(100 * std::exp(scale * evaluation->paths[i].level[t])));
        EXPECT_EQ(row[1], dataset.targets()[(i * 51 + t + 1) * 4]);
        EXPECT_EQ(row[2], std::max(row[0], row[1]));
        EXPECT_EQ(row[3], std::min(row[0], row[1]));
        EXPECT_EQ(dataset.last()[i * 51 + t], 0);
      }
      EXPECT_EQ(dataset.last()[i * 51 + 50], 1);
    }
  }
}

TEST(SynthDataset, SameSeedSameFingerprintOtherSeedAnother) {
  const auto bed = Make("b2");
  const auto a = MakeBedDataset(*bed, {1, 5000, 0}), b = MakeBedDataset(*bed, {1, 5000, 0}),
             c = MakeBedDataset(*bed, {2, 5000, 0});
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ((*a)->fingerprint(), (*b)->fingerprint());
  EXPECT_NE((*a)->fingerprint(), (*c)->fingerprint());
}

TEST(SynthDataset, LongSeriesAreCutIntoIndependentSegments) {
  const auto dataset = MakeBedDataset(*Make("b1"), {1, 2 * kBedSegmentBars + 1, 0});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  std::vector<size_t> ends;
  for (size_t b = 0; b < (*dataset)->bars(); ++b) {
    if ((*dataset)->last()[b] != 0) ends.push_back(b);
  }
  EXPECT_THAT(ends, testing::ElementsAre(kBedSegmentBars - 1, 2 * kBedSegmentBars));
}

TEST(SynthDataset, DistractorsAreColumnsOfUnitNormalsAfterTheSignals) {
  const auto bed = Make("b2");
  const auto plain = MakeBedDataset(*bed, {1, 10'000, 0}),
             hard = MakeBedDataset(*bed, {1, 10'000, 3});
  ASSERT_TRUE(plain.ok() && hard.ok());
  EXPECT_THAT((*hard)->feature_names(),
              testing::ElementsAre("level", "distractor_0", "distractor_1", "distractor_2"));
  double squares = 0, product = 0;
  for (size_t b = 0; b < 10'000; ++b) {
    EXPECT_EQ((*hard)->features()[b * 4], (*plain)->features()[b]);
    squares += std::pow((*hard)->features()[b * 4 + 2], 2);
    product += (*hard)->features()[b * 4] * (*hard)->features()[b * 4 + 1];
  }
  EXPECT_NEAR(squares / 10'000, 1, 0.06);
  EXPECT_NEAR(product / 10'000, 0, 0.06);
}

TEST(SynthDataset, MetadataSayHowTheBedMustBeRun) {
  const auto dataset = MakeBedDataset(*Make("b2"), {5, 100, 0});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto& metadata = (*dataset)->metadata();
  EXPECT_EQ(metadata.at("bed"), "b2");
  EXPECT_EQ(metadata.at("bed_seed"), "5");
  EXPECT_EQ(metadata.at("bed_cost"), "0.3");
  EXPECT_NEAR(std::stod(metadata.at("bed_optimum")), 0.04743, 1.1e-5);
  const std::string& settings = metadata.at("bed_environment");
  EXPECT_THAT(settings, testing::HasSubstr("actions: [1, 19, 37]\n"));
  EXPECT_THAT(settings, testing::HasSubstr("cost_bps: [2, 2, 2, 2, 2, 2, 2, 2, 2]\n"));
  EXPECT_THAT(settings, testing::HasSubstr("pnl_scale: 1666.66667\n"));
}

TEST(SynthDataset, TheBanditTradesFree) {
  const std::string settings = BedEnvironment(Make("b0")->traits());
  EXPECT_THAT(settings, testing::HasSubstr("cost_bps: [0, 0, 0, 0, 0, 0, 0, 0, 0]\n"));
  EXPECT_THAT(settings, testing::HasSubstr("pnl_scale: 1666.58334\n"));
}

TEST(SynthDataset, ImpossibleSizesAreUsageErrors) {
  const auto one = MakeBedDataset(*Make("b2"), {1, 1, 0});
  EXPECT_TRUE(base::IsUsageError(one.status()));
  EXPECT_THAT(one.status().message(), testing::HasSubstr("--bars = 1"));
  const auto wide = MakeBedDataset(*Make("b2"), {1, 100, 253});
  EXPECT_TRUE(base::IsUsageError(wide.status()));
  EXPECT_THAT(wide.status().message(), testing::HasSubstr("outside 0 … 252"));
}

}  // namespace
}  // namespace vixen::market
