// SPDX-License-Identifier: Apache-2.0
#include "base/tensor_file_builder.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scratch_folder.h"

namespace vixen::base {
namespace {

using ::testing::ElementsAre;

std::vector<TensorFileBuilder::Tensor> Tensors() {
  return {{"bytes", DType::kU8, {3}}, {"floats", DType::kF32, {2, 2}}, {"times", DType::kI64, {2}}};
}

TEST(TensorFileBuilder, WhatIsFilledInPlaceIsReadBack) {
  const vixen::testing::ScratchFolder folder;
  const std::string path = folder.File("t.safetensors");
  TensorFileBuilder builder = TensorFileBuilder::Create(path, Tensors(), 1000).value();
  EXPECT_THAT(builder.order(), ElementsAre("times", "floats", "bytes"));
  Sha256 hash;
  const auto fill = [&](auto values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<decltype(+values[0])>(i + 1);
    builder.Release(values);
    hash.Update(std::as_bytes(values));
  };
  fill(builder.Get<int64_t>("times"));
  fill(builder.Get<float>("floats"));
  fill(builder.Get<uint8_t>("bytes"));
  ASSERT_EQ(builder.Finish({{"key", "value"}}, ToHex(hash.Finish())), absl::OkStatus());
  const TensorFile file = TensorFile::Open(path).value();
  EXPECT_EQ(file.metadata().at("key"), "value");
  EXPECT_THAT(*file.Get<float>("floats", {2, 2}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(*file.Get<int64_t>("times", {2}), ElementsAre(1, 2));
  EXPECT_THAT(*file.Get<uint8_t>("bytes", {3}), ElementsAre(1, 2, 3));
  EXPECT_EQ(folder.Count(), 1u);
}

TEST(TensorFileBuilder, WhatIsStoredIsSeenInMemoryAndReadBack) {
  const vixen::testing::ScratchFolder folder;
  const std::string path = folder.File("t.safetensors");
  TensorFileBuilder builder = TensorFileBuilder::Create(path, Tensors(), 1000).value();
  const float values[] = {5, 6};
  const std::span<float> floats = builder.Get<float>("floats");
  ASSERT_EQ(builder.Store(floats.subspan(1, 2), std::span<const float>(values)), absl::OkStatus());
  EXPECT_THAT(floats, ElementsAre(0, 5, 6, 0));
  Sha256 hash;
  for (const std::string& name : builder.order()) {
    hash.Update(std::as_bytes(builder.Get<uint8_t>(name)));
  }
  ASSERT_EQ(builder.Finish({}, ToHex(hash.Finish())), absl::OkStatus());
  EXPECT_THAT(*TensorFile::Open(path).value().Get<float>("floats", {2, 2}),
              ElementsAre(0, 5, 6, 0));
}

TEST(TensorFileBuilder, WithoutFinishNothingIsLeftBehindAndTheOldFileStays) {
  const vixen::testing::ScratchFolder folder;
  const std::string path = folder.File("t.safetensors");
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  { const auto builder = TensorFileBuilder::Create(path, Tensors(), 1000); }
  EXPECT_EQ(folder.Count(), 1u);
  EXPECT_EQ(ReadFile(path).value(), "old");
}

TEST(TensorFileBuilder, ErrorsNameTheFile) {
  const vixen::testing::ScratchFolder folder;
  const absl::Status missing =
      TensorFileBuilder::Create(folder.File("none/t.safetensors"), Tensors(), 10).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), ::testing::HasSubstr("none/t.safetensors"));
  ASSERT_EQ(::mkdir(folder.File("folder").c_str(), 0755), 0);
  EXPECT_EQ(TensorFileBuilder::Create(folder.File("folder"), Tensors(), 10).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(TensorFileBuilder, MoreHeaderThanWasReservedIsAnError) {
  const vixen::testing::ScratchFolder folder;
  const std::string path = folder.File("t.safetensors");
  TensorFileBuilder builder = TensorFileBuilder::Create(path, Tensors(), 10).value();
  EXPECT_EQ(builder.Finish({{"key", std::string(10'000, 'a')}}, "00").code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace vixen::base
