// SPDX-License-Identifier: Apache-2.0
#include "tool/audit/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/sha256.h"
#include "kernels/verify/launch_compare.h"
#include "proto/config/settings.h"
#include "tests/scratch_folder.h"
#include "tests/tool/hand_made.h"
#include "tool/collect/sources.h"

namespace vixen::tool {
namespace {

using kernels::ColumnId;
using kernels::Parameters;
using kernels::WeightsKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint32_t kFeatures = 3;
constexpr uint32_t kSteps = 24;

std::shared_ptr<const market::Dataset> Walk(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<double>> segments(2);
  for (std::vector<double>& closes : segments) {
    double close = 100;
    for (int i = 0; i < 150; ++i) {
      closes.push_back(close);
      close *= 1 + 0.004 * (static_cast<double>(random() % 2001) / 1000 - 1);
    }
  }
  market::Dataset::Parts parts = DailyParts(segments);
  parts.feature_names = {"a", "b", "c"};
  parts.scaler = {.mean = {0, 0, 0}, .scale = {1, 1, 1}};
  parts.features.clear();
  for (size_t i = 0; i < kFeatures * parts.last.size(); ++i) {
    parts.features.push_back(static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
  }
  return market::Dataset::Create(std::move(parts)).value();
}

Parameters RandomParameters(WeightsKind kind, uint64_t seed) {
  Parameters parameters{SmallArchitecture(kFeatures), kind, {}};
  std::mt19937_64 random(seed);
  parameters.values.resize(kernels::ParameterCount(parameters.architecture, kind));
  for (float& value : parameters.values) {
    value = 0.5f * (static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
  }
  return parameters;
}

template <typename Digest>
std::string Text(const Digest& digest) {
  return std::string(digest.begin(), digest.end());
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    environment.set_episodes(6);
    environment.set_steps(kSteps);
  }

  // Files of `launches` batches, with online version 2 and target and curiosity version 1.
  std::vector<std::string> Record(uint64_t launches) {
    const std::string scaler = base::ToHex(dataset->scaler_fingerprint());
    const Parameters online = RandomParameters(WeightsKind::kOnline, 2);
    const Parameters target = RandomParameters(WeightsKind::kTarget, 11);
    const Parameters curiosity = RandomParameters(WeightsKind::kCuriosity, 21);
    for (uint64_t version : {1, 2, 3}) {
      Archive({"p", version, scaler, RandomParameters(WeightsKind::kOnline, version)});
    }
    Archive({"p", 1, scaler, target});
    Archive({"p", 1, scaler, curiosity});

    base::TensorFileWriter writer;
    writer.Metadata("policy", "p")
        .Metadata("online_version", "2")
        .Metadata("target_version", "1")
        .Metadata("curiosity_version", "1")
        .Metadata("scaler_fingerprint", scaler);
    kernels::WriteParameters(online, "online.", writer);
    kernels::WriteParameters(target, "target.", writer);
    kernels::WriteParameters(curiosity, "curiosity.", writer);
    LocalSource source{.data = folder.File("d.safetensors"),
                       .weights = folder.File("w.safetensors"),
                       .environment = config::EffectiveEnvironment(environment),
                       .epsilon = 0.3f,
                       .seed = 7};
    EXPECT_TRUE(dataset->Write(source.data).ok());
    EXPECT_TRUE(writer.Write(source.weights).ok());
    std::vector<std::string> batches;
    const absl::Status status =
        CollectLocally(source, launches, [&](const codec::RecordedBatch& batch) {
          batches.push_back(folder.File("b" + std::to_string(batches.size())));
          return codec::WriteRecordedBatch(batches.back(), batch);
        });
    EXPECT_TRUE(status.ok()) << status;
    return batches;
  }
  static codec::RecordedBatch Read(const std::string& file) {
    absl::StatusOr<codec::RecordedBatch> batch = codec::ReadRecordedBatch(file);
    EXPECT_TRUE(batch.ok()) << batch.status();
    return *std::move(batch);
  }
  void Archive(const kernels::ArchivedWeights& weights) {
    EXPECT_TRUE(kernels::ArchiveWeights(folder.File("archive"), weights).ok());
  }
  absl::StatusOr<AuditResult> Check(codec::RecordedBatch& batch) {
    Auditor auditor{.dataset = dataset,
                    .weights = kernels::WeightsArchive::Open(folder.File("archive")).value(),
                    .make = kernels::MakeCpuCollector,
                    .expected = expected};
    return Audit(auditor, batch);
  }
  // The text of a failed audit.
  std::string FaultOf(codec::RecordedBatch& batch) {
    const absl::StatusOr<AuditResult> result = Check(batch);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return "";
    EXPECT_FALSE(result->passed) << result->text;
    return result->text;
  }
  void ExpectPassed(codec::RecordedBatch& batch, const std::string& text) {
    const absl::StatusOr<AuditResult> result = Check(batch);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->passed) << result->text;
    EXPECT_THAT(result->text, StartsWith(text));
  }
  template <typename T>
  static T& At(codec::RecordedBatch& batch, ColumnId id, size_t index) {
    return reinterpret_cast<T*>(batch.batch.MutableColumn(id).data())[index];
  }

  vixen::testing::ScratchFolder folder;
  std::shared_ptr<const market::Dataset> dataset = Walk(3);
  v1::EnvironmentSettings environment;
  std::vector<std::pair<std::string, std::string>> expected;
};

TEST_F(AuditTest, LaunchesOfThisKindOfDeviceHaveEqualBytes) {
  for (const std::string& file : Record(3)) {
    codec::RecordedBatch batch = Read(file);
    ExpectPassed(batch, "equal bytes, 144 rows");
  }
}

TEST_F(AuditTest, LaunchesThatCarryEpisodesOverStartFromTheRecordedStates) {
  environment.set_carry_over(true);
  environment.set_on_barrier(v1::EnvironmentSettings::RELABEL);
  const std::vector<std::string> files = Record(3);
  for (size_t i : {2, 0, 1}) {
    codec::RecordedBatch batch = Read(files[i]);
    ASSERT_EQ(batch.batch.start_states.size(), 6u);
    ExpectPassed(batch, "equal bytes");
  }
  codec::RecordedBatch changed = Read(files[1]);
  changed.batch.start_states[4].cash += 1;
  EXPECT_THAT(FaultOf(changed), HasSubstr("(slot 4, step 0), column portfolio[0]"));
  changed = Read(files[1]);
  changed.batch.start_states.clear();
  const auto without = Check(changed);
  EXPECT_EQ(without.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(without.status().message(), HasSubstr("slot states"));
}

TEST_F(AuditTest, AChangedByteIsNamedByRowColumnAndBothValues) {
  const std::string recorded = Record(1)[0];
  codec::RecordedBatch batch = Read(recorded);
  float& reward = At<float>(batch, ColumnId::kReward, 29);
  const float before = reward;
  reward = std::nextafter(before, 10.0f);
  EXPECT_THAT(FaultOf(batch),
              AllOf(StartsWith("row 29 (slot 1, step 5), column reward: recorded "),
                    HasSubstr(kernels::ValueText(reward)), HasSubstr(kernels::ValueText(before))));
  batch = Read(recorded);
  At<uint8_t>(batch, ColumnId::kAction, 3) ^= 1;
  EXPECT_THAT(FaultOf(batch), StartsWith("row 3 (slot 0, step 3), column action: recorded "));
  batch = Read(recorded);
  At<float>(batch, ColumnId::kNextPortfolio, 3 * 50 + 2) += 1;
  EXPECT_THAT(FaultOf(batch), StartsWith("row 50 (slot 2, step 2), column next_portfolio[2]"));
  batch = Read(recorded);
  At<uint32_t>(batch, ColumnId::kBar, 143) += 1;
  EXPECT_THAT(FaultOf(batch), StartsWith("row 143 (slot 5, step 23), column bar"));
  batch = Read(recorded);
  batch.trailer.mutable_statistics()->set_explored(batch.trailer.statistics().explored() + 1);
  EXPECT_THAT(FaultOf(batch), StartsWith("statistic explored: recorded "));
}

TEST_F(AuditTest, AWrongWeightsVersionIsNamedWithTheRightOne) {
  const std::string recorded = Record(1)[0];
  codec::RecordedBatch batch = Read(recorded);
  batch.header.set_online_version(3);
  EXPECT_THAT(FaultOf(batch), HasSubstr("made with online weights version 2, the header names 3"));
  batch = Read(recorded);
  batch.header.set_target_version(4);
  const auto missing = Check(batch);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(),
              AllOf(HasSubstr("no target weights version 4 of policy \"p\""),
                    HasSubstr("there are versions 1"), HasSubstr("--weights_archive")));
}

TEST_F(AuditTest, WhatTheHeaderSaysOfTheDrawsMatters) {
  const std::string recorded = Record(2)[1];
  codec::RecordedBatch batch = Read(recorded);
  batch.header.set_run_seed(8);
  EXPECT_THAT(FaultOf(batch), StartsWith("row 0 (slot 0, step 0), column bar"));
  batch = Read(recorded);
  batch.header.set_launch(0);
  EXPECT_THAT(FaultOf(batch), StartsWith("row 0 (slot 0, step 0), column bar"));
  batch = Read(recorded);
  batch.header.set_epsilon(0.9f);
  EXPECT_THAT(FaultOf(batch), HasSubstr("column "));
}

TEST_F(AuditTest, AWrongSettingShowsInTheRowsAndIsNamedWhereTheRightOneIsGiven) {
  codec::RecordedBatch batch = Read(Record(1)[0]);
  v1::EnvironmentSettings settings =
      *config::ParseSettingsBytes(batch.settings, "recorded settings");
  settings.set_spread(0.001f);
  batch.settings = config::SettingsBytes(settings);
  EXPECT_THAT(FaultOf(batch), HasSubstr("column next_portfolio[0]: recorded "));
  expected = {{"spread", "0.0002"}};
  const auto other = Check(batch);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(other.status().message(), "setting spread: recorded 0.001, expected 0.0002");
}

TEST_F(AuditTest, AnotherDatasetIsNamedByBothFingerprints) {
  codec::RecordedBatch batch = Read(Record(1)[0]);
  const std::string before = base::ToHex(dataset->fingerprint());
  dataset = Walk(4);
  const auto other = Check(batch);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(other.status().message(),
              AllOf(HasSubstr(before), HasSubstr(base::ToHex(dataset->fingerprint()))));
}

// As if it came from another kind of processor, whose last bits differ.
class AuditOfAnotherDevice : public AuditTest {
 protected:
  codec::RecordedBatch FromElsewhere(bool double_dqn = false) {
    environment.set_double_dqn(double_dqn);
    codec::RecordedBatch batch = Read(Record(2)[1]);
    batch.header.set_device("cuda: some GPU, sm_90");
    for (size_t row = 0; row < batch.batch.rows(); ++row) {
      float& td = At<float>(batch, ColumnId::kTd, row);
      td = std::nextafter(td, 10.0f);
    }
    return batch;
  }
};

TEST_F(AuditOfAnotherDevice, PassesStepByStep) {
  codec::RecordedBatch batch = FromElsewhere();
  ExpectPassed(batch, "step by step, 144 rows");
  batch.header.set_precision(v1::PRECISION_FP16);
  ExpectPassed(batch, "step by step, 144 rows");
  batch = FromElsewhere(true);
  ExpectPassed(batch, "step by step, 144 rows");
}

TEST_F(AuditOfAnotherDevice, WhatIsBeyondTheToleranceIsNamed) {
  codec::RecordedBatch batch = FromElsewhere();
  At<float>(batch, ColumnId::kTd, 30) += 0.01f;
  EXPECT_THAT(FaultOf(batch), StartsWith("row 30 (slot 1, step 6), column td"));
  batch = FromElsewhere();
  At<float>(batch, ColumnId::kReward, 31) += 0.01f;
  EXPECT_THAT(FaultOf(batch), StartsWith("row 31 (slot 1, step 7), column reward"));
  batch = FromElsewhere();
  At<float>(batch, ColumnId::kPortfolio, 3 * 32 + 1) += 0.01f;
  EXPECT_THAT(FaultOf(batch), HasSubstr("row 32 (slot 1, step 8), column "));
  batch = FromElsewhere();
  batch.header.set_online_version(1);
  EXPECT_THAT(FaultOf(batch), HasSubstr(", column "));
  // An explored row with another action than the one drawn.
  batch = FromElsewhere();
  size_t row = 0;
  while ((At<uint8_t>(batch, ColumnId::kFlags, row) & kernels::kFlagExplored) == 0) ++row;
  uint8_t& action = At<uint8_t>(batch, ColumnId::kAction, row);
  action = static_cast<uint8_t>((action + 1) % kernels::kActions);
  EXPECT_THAT(FaultOf(batch), HasSubstr("column action: recorded "));
}

}  // namespace
}  // namespace vixen::tool
