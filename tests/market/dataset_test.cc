// SPDX-License-Identifier: Apache-2.0
#include "market/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "base/file.h"

namespace vixen::market {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two segments of three and two bars, two features.
Dataset::Parts SmallParts() {
  Dataset::Parts parts;
  parts.feature_names = {"rsi14", "gap"};
  parts.features = {0.5f, -1, 0.25f, 2, 0, 0, 1, 1, -0.5f, 3};
  parts.targets = {100, 101, 102, 100, 101, 99, 103, 98, 99, 99,
                   99,  99,  50,  51,  51,  51, 51,  51, 51, 51};
  parts.last = {0, 0, 1, 0, 1};
  parts.timestamp = {60, 120, 180, 60, 120};
  parts.scaler = {{0.5, 1}, {2, 4}};
  parts.train_rows = 3;
  parts.source = "five bars made by hand";
  parts.extra_metadata = {{"volume", "absent"}};
  return parts;
}

std::shared_ptr<const Dataset> Small() { return Dataset::Create(SmallParts()).value(); }

void ExpectRefused(Dataset::Parts parts, const std::string& message) {
  const auto dataset = Dataset::Create(std::move(parts));
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(dataset.status().message()), HasSubstr(message));
}

class DatasetFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "vixen_dataset_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/d.safetensors";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_, path_;
};

TEST(Dataset, KeepsWhatItWasMadeOf) {
  const auto dataset = Small();
  EXPECT_EQ(dataset->bars(), 5u);
  EXPECT_EQ(dataset->feature_count(), 2u);
  EXPECT_EQ(dataset->features()[3], 2.0f);
  EXPECT_EQ(dataset->targets()[4], 101.0f);
  EXPECT_EQ(dataset->train_rows(), 3u);
  EXPECT_EQ(dataset->metadata().at("volume"), "absent");
  EXPECT_EQ(dataset->metadata().at("feature_names"), R"(["rsi14","gap"])");
}

// SHA-256 over F u32, T u64, features, targets, last; computed apart with Python's hashlib and
// struct.
TEST(Dataset, FingerprintIsTheSpecifiedHash) {
  EXPECT_EQ(base::ToHex(Small()->fingerprint()),
            "957b602bedd69878c823fea4cbdfd1e8f9dfc6df407bb129a3129b522430df0e");
  EXPECT_EQ(base::ToHex(Small()->scaler_fingerprint()),
            "1bdefc199a8f425a23d21bd4dda0f4a1c0db3196ba1b999a19ba6abbdd1c0cc8");
}

TEST(Dataset, AnEmptyScalerStandsForRawColumns) {
  Dataset::Parts parts = SmallParts();
  parts.scaler = {};
  const auto dataset = Dataset::Create(parts).value();
  EXPECT_EQ(dataset->scaler().mean, (std::vector<double>{0, 0}));
  EXPECT_EQ(dataset->scaler().scale, (std::vector<double>{1, 1}));
}

TEST(Dataset, RefusesAnInfiniteFeatureByRowAndColumn) {
  Dataset::Parts parts = SmallParts();
  parts.features[3 * 2 + 0] = std::numeric_limits<float>::infinity();
  ExpectRefused(parts, "row 3 rsi14 = inf");
}

TEST(Dataset, RefusesANaNFeatureByRowAndColumn) {
  Dataset::Parts parts = SmallParts();
  parts.features[4 * 2 + 1] = -std::numeric_limits<float>::quiet_NaN();
  ExpectRefused(parts, "row 4 gap = nan");
}

TEST(Dataset, RefusesPricesThatAreNotPositiveAndFinite) {
  Dataset::Parts parts = SmallParts();
  parts.targets[1 * 4 + 3] = -40.32f;
  ExpectRefused(parts, "row 1 next_low = -40.32");
  parts = SmallParts();
  parts.targets[4 * 4 + 2] = 0;
  ExpectRefused(parts, "row 4 next_high = 0");
  parts = SmallParts();
  parts.targets[0] = std::numeric_limits<float>::quiet_NaN();
  ExpectRefused(parts, "row 0 close = nan");
}

TEST(Dataset, RefusesANextCloseThatIsNotTheNextRowsClose) {
  Dataset::Parts parts = SmallParts();
  parts.targets[1 * 4 + 1] = std::nextafter(99.0f, 100.0f);
  ExpectRefused(parts, "row 1 next_close = 99.00001 but row 2 close = 99");
}

TEST(Dataset, RefusesANextCloseOutsideTheNextBar) {
  Dataset::Parts parts = SmallParts();
  parts.targets[0 * 4 + 2] = 100.5f;
  ExpectRefused(parts, "row 0 next_close = 101 lies outside next_low 100 to next_high 100.5");
}

TEST(Dataset, LeavesTheNextPricesOfALastBarUnread) {
  Dataset::Parts parts = SmallParts();
  parts.targets[2 * 4 + 1] = 7;
  EXPECT_EQ(Dataset::Create(parts).status(), absl::OkStatus());
}

TEST(Dataset, RefusesASegmentOfOneBarByRow) {
  Dataset::Parts parts = SmallParts();
  parts.last = {0, 1, 1, 0, 1};
  ExpectRefused(parts, "row 2 last = 1: a segment of one bar");
}

TEST(Dataset, RefusesAnOpenLastSegmentAndOtherMarksThanZeroAndOne) {
  Dataset::Parts parts = SmallParts();
  parts.last[4] = 0;
  ExpectRefused(parts, "row 4 last = 0");
  parts.last = {0, 0, 2, 0, 1};
  ExpectRefused(parts, "row 2 last = 2");
}

TEST(Dataset, RefusesATimeThatDoesNotRiseInsideASegment) {
  Dataset::Parts parts = SmallParts();
  parts.timestamp[1] = 60;
  ExpectRefused(parts, "row 1 timestamp = 1970-01-01T00:00:00.00000006Z is not after row 0");
}

TEST(Dataset, RefusesWidthsOutsideTheTable) {
  Dataset::Parts parts = SmallParts();
  parts.feature_names.clear();
  parts.features.clear();
  ExpectRefused(parts, "a dataset of 0 features: allowed are 1 to 253");
  parts = SmallParts();
  parts.features.pop_back();
  ExpectRefused(parts, "features holds 9 values where the number of bars asks for 10");
  parts = SmallParts();
  parts.targets.push_back(1);
  ExpectRefused(parts, "targets holds 21 values");
  parts = Dataset::Parts{};
  parts.feature_names = {"a"};
  ExpectRefused(parts, "a dataset of 0 bars");
}

TEST(Dataset, RefusesTheSameFeatureNameTwice) {
  Dataset::Parts parts = SmallParts();
  parts.feature_names = {"gap", "gap"};
  ExpectRefused(parts, "feature name `gap` occurs twice");
}

TEST(Dataset, RefusesAScalerThatCannotBeUndone) {
  Dataset::Parts parts = SmallParts();
  parts.scaler.scale[1] = 0;
  ExpectRefused(parts, "feature_scale of gap = 0");
  parts = SmallParts();
  parts.scaler.mean.pop_back();
  ExpectRefused(parts, "feature_mean holds 1 values");
}

TEST(Dataset, RefusesTrainingRowsThatEndInsideASegment) {
  Dataset::Parts parts = SmallParts();
  parts.train_rows = 2;
  ExpectRefused(parts, "train_rows = 2 of 5 rows");
  parts.train_rows = 6;
  ExpectRefused(parts, "train_rows = 6 of 5 rows");
}

TEST(Dataset, RefusesExtraMetadataThatWouldHideItsOwn) {
  Dataset::Parts parts = SmallParts();
  parts.extra_metadata["fingerprint"] = "00";
  ExpectRefused(parts, "extra metadata `fingerprint`");
}

TEST(EffectiveRange, ZeroEndMeansAllBars) {
  const BarRange range = Small()->EffectiveRange(0, 0).value();
  EXPECT_EQ(range.begin, 0u);
  EXPECT_EQ(range.end, 5u);
}

TEST(EffectiveRange, MovesItsEndsToBarsWhereAnEpisodeCanRun) {
  const BarRange range = Small()->EffectiveRange(2, 5).value();
  EXPECT_EQ(range.begin, 3u);
  EXPECT_EQ(range.end, 5u);
  EXPECT_EQ(Small()->EffectiveRange(0, 4).value().end, 3u);
}

TEST(EffectiveRange, RefusesWhatHoldsNoStartableBar) {
  EXPECT_EQ(Small()->EffectiveRange(2, 4).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Small()->EffectiveRange(1, 2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Small()->EffectiveRange(4, 5).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Small()->EffectiveRange(3, 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Small()->EffectiveRange(5, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EffectiveRange, RefusesAnEndBeyondTheData) {
  const absl::Status status = Small()->EffectiveRange(0, 6).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("end = 6 is beyond the dataset's 5 bars"));
}

TEST_F(DatasetFile, ReadsBackWhatItWrote) {
  const auto written = Small();
  ASSERT_EQ(written->Write(path_), absl::OkStatus());
  const auto read = Dataset::Load(path_);
  ASSERT_EQ(read.status(), absl::OkStatus());
  EXPECT_TRUE(std::ranges::equal((*read)->features(), written->features()));
  EXPECT_TRUE(std::ranges::equal((*read)->targets(), written->targets()));
  EXPECT_TRUE(std::ranges::equal((*read)->last(), written->last()));
  EXPECT_TRUE(std::ranges::equal((*read)->timestamp(), written->timestamp()));
  EXPECT_EQ((*read)->feature_names(), written->feature_names());
  EXPECT_EQ((*read)->scaler().mean, written->scaler().mean);
  EXPECT_EQ((*read)->scaler().scale, written->scaler().scale);
  EXPECT_EQ((*read)->train_rows(), written->train_rows());
  EXPECT_EQ((*read)->source(), written->source());
  EXPECT_EQ((*read)->metadata(), written->metadata());
  EXPECT_EQ((*read)->fingerprint(), written->fingerprint());
  EXPECT_EQ((*read)->scaler_fingerprint(), written->scaler_fingerprint());
}

TEST_F(DatasetFile, ALoadedDatasetWritesTheSameBytes) {
  ASSERT_EQ(Small()->Write(path_), absl::OkStatus());
  const std::string first = base::ReadFile(path_).value();
  ASSERT_EQ(Dataset::Load(path_).value()->Write(folder_ + "/again.safetensors"), absl::OkStatus());
  EXPECT_EQ(base::ReadFile(folder_ + "/again.safetensors").value(), first);
}

TEST_F(DatasetFile, AChangedByteIsFound) {
  ASSERT_EQ(Small()->Write(path_), absl::OkStatus());
  std::string bytes = base::ReadFile(path_).value();
  bytes[bytes.size() - 1] ^= 1;
  ASSERT_EQ(base::WriteFileAtomically(path_, bytes), absl::OkStatus());
  const auto read = Dataset::Load(path_);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr(path_));
}

// A file of another program, without its checksum but with the right tensors.
base::TensorFileWriter Foreign(const Dataset& dataset, const std::string& changed_key,
                               const std::string& value) {
  base::TensorFileWriter writer;
  for (const auto& [key, text] : dataset.metadata()) {
    if (key != changed_key) {
      writer.Metadata(key, text);
    } else if (!value.empty()) {
      writer.Metadata(key, value);
    }
  }
  writer.Tensor<float>("features", {5, 2}, dataset.features())
      .Tensor<float>("targets", {5, 4}, dataset.targets())
      .Tensor<uint8_t>("last", {5}, dataset.last())
      .Tensor<int64_t>("timestamp", {5}, dataset.timestamp())
      .Tensor<double>("feature_mean", {2}, std::span<const double>(dataset.scaler().mean))
      .Tensor<double>("feature_scale", {2}, std::span<const double>(dataset.scaler().scale));
  return writer;
}

TEST_F(DatasetFile, AFingerprintThatDoesNotFitIsFound) {
  const auto dataset = Small();
  for (const char* key : {"fingerprint", "scaler_fingerprint"}) {
    ASSERT_EQ(Foreign(*dataset, key, std::string(64, '0')).Write(path_), absl::OkStatus());
    const absl::Status status = Dataset::Load(path_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(std::string(": metadata `") + key + "` is 0000"));
  }
}

TEST_F(DatasetFile, AMissingKeyOrAnotherVersionIsNamed) {
  const auto dataset = Small();
  ASSERT_EQ(Foreign(*dataset, "feature_names", "").Write(path_), absl::OkStatus());
  EXPECT_THAT(std::string(Dataset::Load(path_).status().message()),
              HasSubstr("metadata has no `feature_names`"));
  ASSERT_EQ(Foreign(*dataset, "feature_names", R"(["a", 2])").Write(path_), absl::OkStatus());
  EXPECT_EQ(Dataset::Load(path_).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(Foreign(*dataset, "feature_names", R"(["a"])").Write(path_), absl::OkStatus());
  EXPECT_THAT(std::string(Dataset::Load(path_).status().message()), HasSubstr("features"));
  ASSERT_EQ(Foreign(*dataset, "format_version", "2").Write(path_), absl::OkStatus());
  EXPECT_THAT(std::string(Dataset::Load(path_).status().message()),
              HasSubstr("format vixen-dataset version 2 is not"));
}

TEST_F(DatasetFile, ANaNInAFileIsNamedByFileRowAndColumn) {
  const auto dataset = Small();
  std::vector<float> features(dataset->features().begin(), dataset->features().end());
  features[5] = std::numeric_limits<float>::quiet_NaN();
  base::TensorFileWriter writer;
  for (const auto& [key, text] : dataset->metadata()) writer.Metadata(key, text);
  writer.Tensor<float>("features", {5, 2}, std::span<const float>(features))
      .Tensor<float>("targets", {5, 4}, dataset->targets())
      .Tensor<uint8_t>("last", {5}, dataset->last())
      .Tensor<int64_t>("timestamp", {5}, dataset->timestamp())
      .Tensor<double>("feature_mean", {2}, std::span<const double>(dataset->scaler().mean))
      .Tensor<double>("feature_scale", {2}, std::span<const double>(dataset->scaler().scale));
  ASSERT_EQ(writer.Write(path_), absl::OkStatus());
  const absl::Status status = Dataset::Load(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), path_ + ": row 2 gap = nan");
}

TEST_F(DatasetFile, AFileThatIsNotThereIsNotFound) {
  EXPECT_EQ(Dataset::Load(path_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DatasetFile, AFolderThatIsNotThereLeavesNothingBehind) {
  const absl::Status status = Small()->Write(folder_ + "/none/d.safetensors");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace vixen::market
