// SPDX-License-Identifier: Apache-2.0
#include "market/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/exit_code.h"
#include "market/format.h"
#include "market/scaler.h"
#include "tests/market/example_bars.h"
#include "tests/scratch_folder.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Bars Joined(const Bars& a, const Bars& b) {
  Bars both = a;
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(both.timestamp, b.timestamp);
  append(both.open, b.open);
  append(both.high, b.high);
  append(both.low, b.low);
  append(both.close, b.close);
  append(both.volume, b.volume);
  append(both.last, b.last);
  return both;
}

struct ImportResult {
  std::shared_ptr<const Dataset> dataset;  // as it is read back
  ImportReport report;
};

absl::StatusOr<ImportResult> Import(const Bars& bars, const ImportOptions& options) {
  const vixen::testing::ScratchFolder folder;
  const std::string path = folder.File("d.safetensors");
  auto report = ImportBars(bars, options, path);
  EXPECT_EQ(folder.Count(), report.ok() ? 1u : 0u) << "something was left behind";
  if (!report.ok()) return report.status();
  auto dataset = Dataset::Load(path);
  EXPECT_EQ(dataset.status(), absl::OkStatus());
  if (!dataset.ok()) return dataset.status();
  EXPECT_EQ(report->fingerprint, base::ToHex((*dataset)->fingerprint()));
  return ImportResult{*std::move(dataset), *std::move(report)};
}

ImportResult Imported(const Bars& bars, const ImportOptions& options) {
  absl::StatusOr<ImportResult> result = Import(bars, options);
  EXPECT_EQ(result.status(), absl::OkStatus());
  return result.ok() ? *std::move(result) : ImportResult{};
}

ImportOptions Raw() {
  ImportOptions options;
  options.raw = true;
  return options;
}

void ExpectUsageError(const Bars& bars, const ImportOptions& options, const char* part) {
  const absl::Status status = Import(bars, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(base::IsUsageError(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(part));
}

TEST(Import, TargetsAreThePricesOfTheRowsBarAndTheNext) {
  const Bars bars = Walk(400);
  const ImportResult result = Imported(bars, Raw());
  const Dataset& dataset = *result.dataset;
  ASSERT_EQ(dataset.bars(), 150u);
  for (size_t row = 0; row < dataset.bars(); ++row) {
    const size_t bar = row + 250;
    const float* target = &dataset.targets()[row * 4];
    EXPECT_EQ(dataset.timestamp()[row], bars.timestamp[bar]);
    EXPECT_EQ(target[0], static_cast<float>(bars.close[bar]));
    if (row + 1 == dataset.bars()) continue;
    EXPECT_EQ(target[1], static_cast<float>(bars.close[bar + 1]));
    EXPECT_EQ(target[2], static_cast<float>(bars.high[bar + 1]));
    EXPECT_EQ(target[3], static_cast<float>(bars.low[bar + 1]));
    EXPECT_EQ(dataset.last()[row], 0);
  }
  EXPECT_EQ(dataset.last()[149], 1);
  EXPECT_EQ(dataset.metadata().at("volume"), "present");
  EXPECT_EQ(dataset.metadata().at("scaler_fit"), "raw");
}

// The contract changes between bars: the earlier one is `last`, and no value depends on the other
// side.
TEST(Import, NothingCrossesASegment) {
  const Bars first = Walk(300, 1);
  Bars second = Walk(300, 2);
  const ImportResult a = Imported(Joined(first, second), Raw());
  for (size_t i = 0; i < second.size(); ++i) {
    second.open[i] *= 3;
    second.high[i] *= 3;
    second.low[i] *= 3;
    second.close[i] *= 3;
  }
  const ImportResult b = Imported(Joined(first, second), Raw());
  ASSERT_EQ(a.dataset->bars(), 100u);
  EXPECT_EQ(a.dataset->last()[49], 1);
  EXPECT_EQ(a.report.segments, 2u);
  for (size_t i = 0; i < 50 * 51; ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(a.dataset->features()[i]),
              std::bit_cast<uint32_t>(b.dataset->features()[i]));
  }
  const ImportResult alone = Imported(Walk(300, 2), Raw());
  EXPECT_TRUE(
      std::ranges::equal(a.dataset->features().subspan(50 * 51), alone.dataset->features()));
}

TEST(Import, AGapEndsASegmentOnRequest) {
  Bars bars = Joined(Walk(300), Walk(300, 2, 1'704'305'800'000'000'000));
  bars.last[299] = 0;
  EXPECT_EQ(Imported(bars, Raw()).dataset->bars(), 350u);
  ImportOptions options = Raw();
  options.max_gap_ns = 60 * kMinute;
  const ImportResult result = Imported(bars, options);
  EXPECT_EQ(result.dataset->bars(), 100u);
  EXPECT_EQ(result.report.gap_cuts, 1u);
  EXPECT_EQ(result.dataset->metadata().at("max_gap_ns"), "3600000000000");
}

TEST(Import, ShortSegmentsGiveNoRowsAndAreReported) {
  const Bars bars = Joined(Walk(300), Walk(251, 2));
  const ImportResult result = Imported(bars, Raw());
  EXPECT_EQ(result.dataset->bars(), 50u);
  ASSERT_EQ(result.report.short_segments.size(), 1u);
  EXPECT_EQ(result.report.short_segments[0].bars, 251u);
  EXPECT_EQ(Imported(Joined(Walk(300), Walk(252, 2)), Raw()).dataset->bars(), 52u);
}

TEST(Import, TooFewBarsAreRefusedWithTheNumberNeeded) {
  for (const int count : {1, 251}) {
    const absl::Status status = Import(Walk(count), Raw()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(std::string("the longest of 1 has ") + std::to_string(count) + " bar"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("warm_up 250 needs at least 252"));
  }
  EXPECT_EQ(Import(Bars{}, Raw()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Import, InvalidBarsOfAnyReaderAreRefusedByRow) {
  Bars bars = Walk(300);
  bars.low[7] = -1;
  const absl::Status status = Import(bars, Raw()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "row 7, time 2024-01-02T14:37:00Z: low = -1 is not above 0");
  bars = Walk(300);
  bars.timestamp[5] = bars.timestamp[4];
  EXPECT_THAT(std::string(Import(bars, Raw()).status().message()),
              HasSubstr("row 5, time 2024-01-02T14:34:00Z is not after row 4"));
  bars = Walk(300);
  bars.volume.pop_back();
  EXPECT_THAT(std::string(Import(bars, Raw()).status().message()), HasSubstr("a column of 299"));
}

TEST(Import, FitsTheScalerOnTheFirstFourFifthsByDefault) {
  const ImportResult raw = Imported(Walk(450), Raw());
  const ImportResult scaled = Imported(Walk(450), {});
  EXPECT_EQ(scaled.report.scaler, "rows 0:160");
  double mean = 0;
  for (size_t row = 0; row < 160; ++row) mean += raw.dataset->features()[row * 51 + 24];
  mean /= 160;
  EXPECT_DOUBLE_EQ(scaled.dataset->scaler().mean[24], mean);
  const double scale = scaled.dataset->scaler().scale[24];
  EXPECT_EQ(scaled.dataset->features()[199 * 51 + 24],
            static_cast<float>((raw.dataset->features()[199 * 51 + 24] - mean) / scale));
  EXPECT_EQ(scaled.report.clipped.size(), 51u);
}

TEST(Import, AnotherDatasetsScalerIsTakenAsItIs) {
  const ImportResult training = Imported(Walk(450), {});
  ImportOptions options;
  options.scaler_from = training.dataset;
  const ImportResult later = Imported(Walk(400, 5), options);
  EXPECT_EQ(later.dataset->scaler().mean, training.dataset->scaler().mean);
  EXPECT_EQ(later.dataset->scaler().scale, training.dataset->scaler().scale);
  EXPECT_EQ(later.dataset->scaler_fingerprint(), training.dataset->scaler_fingerprint());
  EXPECT_THAT(later.report.scaler, HasSubstr("from dataset "));
}

TEST(Import, AColumnThatWasConstantStaysZeroUnderItsScaler) {
  Bars flat = Walk(450);
  flat.volume.assign(450, 0.0);
  const ImportResult training = Imported(flat, {});
  EXPECT_THAT(training.report.constant_columns, ::testing::Contains("vol_ratio20"));
  EXPECT_THAT(training.report.warnings, ::testing::Contains(HasSubstr("\"vol_ratio20\"")));
  ImportOptions options;
  options.scaler_from = training.dataset;
  const ImportResult later = Imported(Walk(450, 3), options);
  for (size_t row = 0; row < later.dataset->bars(); ++row) {
    EXPECT_EQ(later.dataset->features()[row * 51 + 41], 0.0f);
  }
}

TEST(Import, AScalerOfOtherColumnsIsAFailedPrecondition) {
  Dataset::Parts parts;
  parts.feature_names = {"a"};
  parts.features = {0, 1};
  parts.targets = {1, 1, 1, 1, 1, 1, 1, 1};
  parts.last = {0, 1};
  parts.timestamp = {0, 1};
  ImportOptions options;
  options.scaler_from = Dataset::Create(parts).value();
  const absl::Status status = Import(Walk(300), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--scaler_from"));
}

TEST(Import, ASplitCutsWholeSegmentFeaturesAndFitsOnTheEarlierSide) {
  const Bars bars = Joined(Walk(350, 1), Walk(350, 2));
  ImportOptions options;
  options.split = SplitPoint{std::nullopt, 0.8};
  options.embargo = 5;
  const ImportResult result = Imported(bars, options);
  EXPECT_EQ(result.dataset->train_rows(), 160u);
  EXPECT_EQ(result.report.embargoed, 10u);
  EXPECT_EQ(result.dataset->bars(), 190u);
  EXPECT_EQ(result.report.segments, 4u);
  EXPECT_EQ(result.report.scaler, "rows 0:160");
  EXPECT_EQ(result.dataset->metadata().at("split_time"), "2024-01-02T20:00:00Z");
  EXPECT_THAT((std::vector<int>{result.dataset->last()[79], result.dataset->last()[159],
                                result.dataset->last()[174], result.dataset->last()[189]}),
              ElementsAre(1, 1, 1, 1));
  // The later part's features come from the whole segment.
  const ImportResult whole = Imported(bars, Raw());
  options.raw = true;
  const ImportResult raw = Imported(bars, options);
  EXPECT_TRUE(std::ranges::equal(raw.dataset->features().subspan(160 * 51, 15 * 51),
                                 whole.dataset->features().subspan(85 * 51, 15 * 51)));
  // What lies after the cut is in no target of the row before it.
  EXPECT_EQ(raw.dataset->targets()[79 * 4 + 1], raw.dataset->targets()[79 * 4]);
}

TEST(Import, ASplitByTimeTakesRowsFromThatTimeOn) {
  const Bars bars = Walk(350);
  ImportOptions options = Raw();
  options.split = SplitPoint{bars.timestamp[300], 0};
  const ImportResult result = Imported(bars, options);
  EXPECT_EQ(result.dataset->train_rows(), 50u);
  EXPECT_EQ(result.dataset->timestamp()[50], bars.timestamp[300]);
  options.split = SplitPoint{bars.timestamp[349] + 1, 0};
  ExpectUsageError(bars, options, "leaves no two rows of a segment after it");
  options.split = SplitPoint{0, 0};
  ExpectUsageError(bars, options, "leaves no two rows of a segment before it");
}

TEST(Import, OptionsThatExcludeEachOtherAreUsageErrors) {
  const Bars bars = Walk(300);
  ImportOptions options = Raw();
  options.fit = BarRange{0, 10};
  ExpectUsageError(bars, options, "--raw excludes --fit");
  options = {};
  options.embargo = 3;
  ExpectUsageError(bars, options, "--embargo needs --split");
  options = {};
  options.fit = BarRange{0, 51};
  ExpectUsageError(bars, options, "--fit 0:51 is no range of the dataset's 50 rows");
  options = {};
  options.warm_up = 59;
  ExpectUsageError(bars, options, "--warm_up 59 is below 60");
  options = {};
  options.split = SplitPoint{std::nullopt, 1.5};
  ExpectUsageError(bars, options, "--split 1.5 is no share");
}

TEST(Import, AFitBeyondTheTrainingRowsIsWarnedAbout) {
  ImportOptions options;
  options.split = SplitPoint{std::nullopt, 0.5};
  options.fit = BarRange{0, 60};
  EXPECT_THAT(Imported(Walk(350), options).report.warnings,
              ::testing::Contains(HasSubstr("--fit 0:60 reaches beyond the 50 training rows")));
}

// Rows 60 … 140 are the end of the first segment's earlier part, the second's, and the beginning of
// the first one's later part: not in the order of the bars.
TEST(Import, AFitOverRowsOutOfTheBarsOrderSumsThemInTheRowsOrder) {
  const Bars bars = Joined(Walk(350, 1), Walk(350, 2));
  ImportOptions options = Raw();
  options.split = SplitPoint{std::nullopt, 0.5};
  const ImportResult raw = Imported(bars, options);
  ASSERT_EQ(raw.dataset->train_rows(), 100u);
  for (const BarRange fit : {BarRange{60, 140}, BarRange{10, 90}}) {
    options.raw = false;
    options.fit = fit;
    const FittedScaler wanted = FitScaler(raw.dataset->features(), kFeatureCount, fit);
    const ImportResult result = Imported(bars, options);
    EXPECT_EQ(result.dataset->scaler().mean, wanted.scaler.mean);
    EXPECT_EQ(result.dataset->scaler().scale, wanted.scaler.scale);
    std::vector<float> scaled(raw.dataset->features().begin(), raw.dataset->features().end());
    ApplyScaler(wanted, scaled);
    EXPECT_TRUE(std::ranges::equal(result.dataset->features(), scaled));
  }
}

TEST(Import, VolumeThatIsAbsentIsRecordedAndItsColumnsAreZero) {
  Bars bars = Walk(300);
  bars.has_volume = false;
  bars.volume.assign(300, 0.0);
  const ImportResult result = Imported(bars, Raw());
  EXPECT_EQ(result.dataset->metadata().at("volume"), "absent");
  for (size_t row = 0; row < 50; ++row) {
    for (const int column : {30, 41, 42, 43, 44, 45, 46}) {
      EXPECT_EQ(result.dataset->features()[row * 51 + column], 0.0f);
    }
  }
}

// Features of rows ≤ b do not change when the input is cut after bar b.
TEST(Import, CuttingTheInputLeavesEarlierFeaturesBitEqual) {
  const Bars bars = Walk(400);
  const ImportResult whole = Imported(bars, Raw());
  Bars cut = Walk(330);
  cut.last.back() = 1;
  const ImportResult shorter = Imported(cut, Raw());
  EXPECT_TRUE(std::ranges::equal(shorter.dataset->features(),
                                 whole.dataset->features().subspan(0, 80 * 51)));
}

TEST(Import, PricesFloat32CannotTellApartAreWarnedAboutAndKeptInTheFeatures) {
  Bars bars = Walk(300);
  for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close}) {
    column->assign(300, 628930.01);
  }
  bars.close[299] = bars.high[299] = 628930.02;
  const ImportResult result = Imported(bars, Raw());
  EXPECT_NEAR(result.dataset->features()[49 * 51], 1.590002e-8, 1e-14);
  EXPECT_EQ(result.dataset->targets()[49 * 4], result.dataset->targets()[48 * 4]);
  EXPECT_THAT(result.report.warnings,
              ::testing::Contains(::testing::AllOf(HasSubstr("close 628930.01 and 628930.02"),
                                                   HasSubstr("step there is 0.0625"))));
}

TEST(Import, WeeksWithoutBarsAreNamedUnlessGapsWereDecidedAbout) {
  Bars bars = Joined(Walk(300), Walk(300, 2, 1'707'205'800'000'000'000));
  bars.last[299] = 0;
  EXPECT_THAT(Imported(bars, Raw()).report.warnings,
              ::testing::Contains(HasSubstr("no bars for 34 days after 2024-01-02T19:29:00Z")));
  ImportOptions options = Raw();
  options.max_gap_ns = 60 * kMinute;
  EXPECT_THAT(Imported(bars, options).report.warnings,
              ::testing::Not(::testing::Contains(HasSubstr("no bars for"))));
}

}  // namespace
}  // namespace vixen::market
