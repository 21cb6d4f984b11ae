// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "kernels/nn/network.h"
#include "tests/kernels/test_policy.h"

namespace vixen::kernels {
namespace {

Parameters Random(WeightsKind kind) {
  return bench::RandomParameters(SmallArchitecture(), kind, 20 + static_cast<uint64_t>(kind));
}

// The bytes of a file and what was parsed from them.
struct Parsed {
  explicit Parsed(const base::TensorFileWriter& writer)
      : bytes(writer.Serialize().value()),
        file(base::TensorFile::Parse(std::as_bytes(std::span(bytes)), "test").value()) {}
  std::string bytes;
  base::TensorFile file;
};

void ExpectRefused(const base::TensorFileWriter& writer, const std::string& culprit) {
  const Parsed parsed(writer);
  const auto parameters =
      ReadParameters(parsed.file, "", SmallArchitecture(), WeightsKind::kOnline);
  EXPECT_EQ(parameters.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(parameters.status().ToString().find(culprit), std::string::npos) << parameters.status();
}

TEST(WeightsFiles, ReadBackWhatWasWritten) {
  const Parameters online = Random(WeightsKind::kOnline);
  base::TensorFileWriter writer;
  WriteParameters(online, "", writer);
  const Parsed parsed(writer);
  const auto architecture = ArchitectureOf(parsed.file, "");
  ASSERT_TRUE(architecture.ok()) << architecture.status();
  EXPECT_EQ(architecture->hidden2, 48u);
  const auto read = ReadParameters(parsed.file, "", SmallArchitecture(), WeightsKind::kOnline);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->values, online.values);
}

TEST(WeightsFiles, RefuseAMissingTensor) {
  base::TensorFileWriter writer;
  ExpectRefused(writer, "shared_layers.0.weight");
}

TEST(WeightsFiles, RefuseAnExtraTensor) {
  const Parameters online = Random(WeightsKind::kOnline);
  const std::vector<float> extra(3);
  base::TensorFileWriter writer;
  WriteParameters(online, "", writer);
  writer.Tensor<float>("shared_layers.2.bias", {3}, extra);
  ExpectRefused(writer, "shared_layers.2.bias");
}

TEST(WeightsFiles, RefuseAnotherShape) {
  Architecture other = SmallArchitecture();
  other.value_hidden = 64;
  const Parameters online = bench::RandomParameters(other, WeightsKind::kOnline, 1);
  base::TensorFileWriter writer;
  WriteParameters(online, "", writer);
  ExpectRefused(writer, "value_layers.0.weight");
}

TEST(WeightsFiles, RefuseAnotherType) {
  const Parameters online = Random(WeightsKind::kOnline);
  base::TensorFileWriter writer;
  bool replaced = false;
  const std::vector<double> wide(32);
  for (const LayerLayout& layer : LayersOf(online.architecture, online.kind)) {
    const std::span<const float> values(online.values);
    writer.Tensor(layer.name + ".weight", {layer.outputs, layer.inputs},
                  values.subspan(layer.weight_offset, size_t{layer.inputs} * layer.outputs));
    if (!replaced) {
      writer.Tensor<double>(layer.name + ".bias", {layer.outputs}, wide);
      replaced = true;
    } else {
      writer.Tensor(layer.name + ".bias", {layer.outputs},
                    values.subspan(layer.bias_offset, layer.outputs));
    }
  }
  ExpectRefused(writer, "shared_layers.0.bias");
}

TEST(WeightsFiles, RefuseValuesThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Parameters online = Random(WeightsKind::kOnline);
    const LayerLayout layer = LayersOf(online.architecture, online.kind)[1];
    online.values[layer.weight_offset + 17] = bad;
    base::TensorFileWriter writer;
    WriteParameters(online, "", writer);
    ExpectRefused(writer, "shared_layers.1.weight[17]");
  }
}

class PolicyFile : public testing::Test {
 protected:
  PolicyFile()
      : path_(testing::TempDir() + "/policy_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors") {}
  ~PolicyFile() override { std::filesystem::remove(path_); }

  const std::string path_;
};

TEST_F(PolicyFile, ABundleHoldsAllThreeKinds) {
  const Parameters online = Random(WeightsKind::kOnline);
  const Parameters target = Random(WeightsKind::kTarget);
  const Parameters curiosity = Random(WeightsKind::kCuriosity);
  base::TensorFileWriter writer;
  WriteParameters(online, "online.", writer);
  WriteParameters(target, "target.", writer);
  WriteParameters(curiosity, "curiosity.", writer);
  writer.Metadata("online_version", "12").Metadata("target_version", "8");
  writer.Metadata("scaler_fingerprint", "abcd");
  ASSERT_TRUE(writer.Write(path_).ok());
  const auto weights = LoadPolicyWeights(path_);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(weights->online.values, online.values);
  EXPECT_EQ(weights->target.values, target.values);
  EXPECT_EQ(weights->curiosity.values, curiosity.values);
  EXPECT_EQ(weights->online_version, 12u);
  EXPECT_EQ(weights->target_version, 8u);
  EXPECT_EQ(weights->curiosity_version, 0u);
  EXPECT_EQ(weights->scaler_fingerprint, "abcd");
}

TEST_F(PolicyFile, OnlineAloneIsItsOwnTarget) {
  const Parameters online = Random(WeightsKind::kOnline);
  for (const char* prefix : {"", "online."}) {
    base::TensorFileWriter writer;
    WriteParameters(online, prefix, writer);
    ASSERT_TRUE(writer.Write(path_).ok());
    const auto weights = LoadPolicyWeights(path_);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(weights->target.values, online.values);
    EXPECT_EQ(weights->target.kind, WeightsKind::kTarget);
    EXPECT_TRUE(weights->curiosity.values.empty());
  }
}

TEST_F(PolicyFile, RefusesAStrangerInABundle) {
  const Parameters online = Random(WeightsKind::kOnline);
  const std::vector<float> extra(1);
  base::TensorFileWriter writer;
  WriteParameters(online, "online.", writer);
  writer.Tensor<float>("optimizer.step", {1}, extra);
  ASSERT_TRUE(writer.Write(path_).ok());
  const absl::Status status = LoadPolicyWeights(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("optimizer.step"), std::string::npos);
}

TEST_F(PolicyFile, SaysWhichVersionIsNotANumber) {
  const Parameters online = Random(WeightsKind::kOnline);
  base::TensorFileWriter writer;
  WriteParameters(online, "", writer);
  writer.Metadata("online_version", "new");
  ASSERT_TRUE(writer.Write(path_).ok());
  const absl::Status status = LoadPolicyWeights(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("online_version"), std::string::npos);
}

TEST_F(PolicyFile, NamesAFileThatIsNotThere) {
  const absl::Status status = LoadPolicyWeights(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.ToString().find(path_), std::string::npos);
}

}  // namespace
}  // namespace vixen::kernels
