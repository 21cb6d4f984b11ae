// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/recorded_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/tensor_file.h"
#include "tests/proto/codec/example_batch.h"
#include "tests/scratch_folder.h"

namespace vixen::codec {
namespace {

using ::testing::HasSubstr;

class RecordedBatchTest : public ::testing::Test {
 protected:
  RecordedBatch Record() {
    const v1::Encoding encoding = EncodingOf(true, true, true, false, true);
    auto decoder = BatchDecoder::Create(Example::Opened(encoding), encoding);
    for (const auto& message : Example().Messages(encoding, 1000)) {
      auto batch = decoder->Add(message);
      EXPECT_TRUE(batch.ok()) << batch.status();
      if (batch.ok() && *batch) return RecordOf(std::move(**batch), Example::Opened(encoding));
    }
    ADD_FAILURE() << "no batch";
    return {.batch = kernels::Batch(1, 1, false)};
  }

  testing::ScratchFolder folder;
  const std::string path = folder.File("b.safetensors");
};

TEST_F(RecordedBatchTest, ComesBackAsItWasWritten) {
  RecordedBatch written = Record();
  written.header.set_run_id(0xFEDCBA9876543210);
  written.header.set_epsilon(0.1f);
  written.settings = std::string("settings");
  ASSERT_TRUE(WriteRecordedBatch(path, written).ok());
  const auto read = ReadRecordedBatch(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->header.SerializeAsString(), written.header.SerializeAsString());
  EXPECT_EQ(read->trailer.SerializeAsString(), written.trailer.SerializeAsString());
  EXPECT_EQ(read->settings, written.settings);
  EXPECT_EQ(read->dataset_fingerprint, std::string(32, 'd'));
  EXPECT_EQ(read->state, written.state);
  EXPECT_EQ(read->next_state, written.next_state);
  EXPECT_EQ(read->batch.statistics.td_max, 1.75);
  EXPECT_EQ(read->batch.statistics.clamped_activations, 11u);
  ASSERT_EQ(read->batch.start_states.size(), 3u);
  EXPECT_EQ(read->batch.start_states[1].rng, 101u);
  const auto payload = [](const RecordedBatch& recorded) {
    const std::span<const std::byte> bytes = recorded.batch.payload();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  EXPECT_EQ(payload(*read), payload(written));
}

TEST_F(RecordedBatchTest, HoldsItsColumnsAsNamedTensors) {
  ASSERT_TRUE(WriteRecordedBatch(path, Record()).ok());
  const auto file = base::TensorFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->Get<uint32_t>("bar", {3, 5}).ok());
  EXPECT_TRUE(file->Get<float>("portfolio", {3, 5, 3}).ok());
  EXPECT_TRUE(file->Get<uint8_t>("slot_states", {3, 168}).ok());
}

TEST_F(RecordedBatchTest, ATamperedByteIsDataLoss) {
  ASSERT_TRUE(WriteRecordedBatch(path, Record()).ok());
  std::string bytes = *base::ReadFile(path);
  bytes[bytes.size() - 700] ^= 1;
  ASSERT_TRUE(base::WriteFileAtomically(path, bytes).ok());
  EXPECT_EQ(ReadRecordedBatch(path).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(RecordedBatchTest, SettingsOfAnotherRunAreNamed) {
  RecordedBatch recorded = Record();
  recorded.settings = "other";
  ASSERT_TRUE(WriteRecordedBatch(path, recorded).ok());
  const absl::Status status = ReadRecordedBatch(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("settings_sha256"));
}

TEST_F(RecordedBatchTest, DimensionsThatTheTensorsDoNotHaveAreNamed) {
  RecordedBatch recorded = Record();
  recorded.header.set_steps(65536);
  ASSERT_TRUE(WriteRecordedBatch(path, recorded).ok());
  const absl::Status status = ReadRecordedBatch(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bar"));
}

TEST_F(RecordedBatchTest, AnotherKindOfFileIsRefused) {
  base::TensorFileWriter writer;
  ASSERT_TRUE(writer.Write(path).ok());
  EXPECT_EQ(ReadRecordedBatch(path).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadRecordedBatch(folder.File("none")).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace vixen::codec
