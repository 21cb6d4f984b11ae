// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/sha256.h"
#include "base/tensor_file.h"
#include "tests/scratch_folder.h"

namespace vixen::base {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

const std::vector<uint8_t> kBytes = {1, 2, 3};
const std::vector<float> kFloats = {0.5f, -1.0f, 3.25f, 8.0f};
const std::vector<int64_t> kLongs = {-1, 1'700'000'000'000'000'000};

TensorFileWriter Example() {
  TensorFileWriter writer;
  writer.Metadata("source", "a \"quoted\" name, 中, \x01")
      .Tensor<uint8_t>("last", {3}, kBytes)
      .Tensor<float>("features", {2, 2}, kFloats)
      .Tensor<int64_t>("timestamp", {2}, kLongs);
  return writer;
}

TEST(TensorFileWriter, WritesWhatTheReaderReads) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(Example().Write(scratch.File("d.safetensors")).ok());
  EXPECT_EQ(scratch.Count(), 1u);
  const auto file = TensorFile::Open(scratch.File("d.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata().at("source"), "a \"quoted\" name, 中, \x01");
  EXPECT_THAT(file->Get<uint8_t>("last", {3}).value(), ElementsAreArray(kBytes));
  EXPECT_THAT(file->Get<float>("features", {2, 2}).value(), ElementsAreArray(kFloats));
  EXPECT_THAT(file->Get<int64_t>("timestamp", {2}).value(), ElementsAreArray(kLongs));
}

TEST(TensorFileWriter, LaysWiderTypesFirstFromAMultipleOfEight) {
  const std::string bytes = Example().Serialize().value();
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  const auto file = TensorFile::Parse(std::as_bytes(std::span(bytes)), "f");
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::string> names;
  for (const TensorView& tensor : file->tensors()) {
    names.push_back(tensor.name);
    EXPECT_EQ(
        (tensor.bytes.data() - std::as_bytes(std::span(bytes)).data()) % DTypeBytes(tensor.dtype),
        0u);
  }
  EXPECT_THAT(names, ElementsAre("timestamp", "features", "last"));
}

TEST(TensorFileWriter, KeepsTheGivenOrderAmongTensorsOfOneWidth) {
  TensorFileWriter writer;
  for (const char* name : {"z", "a", "m"}) writer.Tensor<float>(name, {4}, kFloats);
  const std::string bytes = writer.Serialize().value();
  const auto file = TensorFile::Parse(std::as_bytes(std::span(bytes)), "f");
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::string> names;
  for (const TensorView& tensor : file->tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("z", "a", "m"));
}

TEST(TensorFileWriter, StoresTheHashOfTheTensorRegion) {
  TensorFileWriter writer = Example();
  writer.Metadata("sha256", "stale: copied from another file");
  const std::string bytes = writer.Serialize().value();
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  const auto file = TensorFile::Parse(std::as_bytes(std::span(bytes)), "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata().at("sha256"),
            ToHex(Sha256Of(std::string_view(bytes).substr(8 + header))));
}

TEST(TensorFileWriter, TheSameContentGivesTheSameBytes) {
  EXPECT_EQ(Example().Serialize().value(), Example().Serialize().value());
}

TEST(TensorFileWriter, AFlippedTensorByteIsFoundAtOpeningUnlessNotAskedFor) {
  testing::ScratchFolder scratch;
  std::string bytes = Example().Serialize().value();
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(scratch.File("f"), bytes).ok());
  const auto file = TensorFile::Open(scratch.File("f"));
  EXPECT_EQ(file.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr(scratch.File("f")));
  EXPECT_TRUE(TensorFile::Open(scratch.File("f"), /*verify_checksum=*/false).ok());
}

TEST(TensorFileWriter, AcceptsEmptyTensorsAndNone) {
  TensorFileWriter writer;
  EXPECT_TRUE(writer.Serialize().ok());
  writer.Tensor<float>("none", {0, 7}, {}).Tensor<float>("scalar", {}, std::span(kFloats).first(1));
  const std::string bytes = writer.Serialize().value();
  const auto file = TensorFile::Parse(std::as_bytes(std::span(bytes)), "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Find("none")->Describe(), "F32 [0, 7]");
}

absl::Status FaultOf(TensorFileWriter& writer) {
  const auto bytes = writer.Serialize();
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument);
  return bytes.status();
}

TEST(TensorFileWriter, RefusesARepeatedName) {
  TensorFileWriter writer;
  writer.Tensor<float>("x", {4}, kFloats).Tensor<uint8_t>("x", {3}, kBytes);
  EXPECT_THAT(std::string(FaultOf(writer).message()), HasSubstr("\"x\" is added twice"));
}

TEST(TensorFileWriter, RefusesAShapeThatDoesNotFitTheBytes) {
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{3}, {-4}, {4, 2}, {int64_t{1} << 62, 4}}) {
    TensorFileWriter writer;
    writer.Tensor<float>("x", shape, kFloats);
    EXPECT_THAT(std::string(FaultOf(writer).message()), HasSubstr("does not describe 16 bytes"));
  }
}

TEST(TensorFileWriter, RefusesReservedNamesAndNamesThatAreNotUtf8) {
  TensorFileWriter reserved;
  reserved.Tensor<float>("__metadata__", {4}, kFloats);
  EXPECT_THAT(std::string(FaultOf(reserved).message()), HasSubstr("reserved"));
  TensorFileWriter binary;
  binary.Tensor<float>("\xff", {4}, kFloats);
  EXPECT_THAT(std::string(FaultOf(binary).message()), HasSubstr("is not UTF-8"));
}

TEST(TensorFileWriter, WriteNamesTheFileAndLeavesTheOldOne) {
  testing::ScratchFolder scratch;
  ASSERT_TRUE(Example().Write(scratch.File("f")).ok());
  TensorFileWriter bad;
  bad.Tensor<float>("x", {5}, kFloats);
  const absl::Status status = bad.Write(scratch.File("f"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(scratch.File("f") + ": tensor \"x\""));
  EXPECT_TRUE(TensorFile::Open(scratch.File("f")).ok());
  EXPECT_EQ(scratch.Count(), 1u);
}

TEST(TensorFileWriter, WriteSaysWhyTheFolderCannotTakeTheFile) {
  testing::ScratchFolder scratch;
  const absl::Status status = Example().Write(scratch.File("no/such/f"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace vixen::base
