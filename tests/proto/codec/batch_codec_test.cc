// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/crc32c.h"
#include "proto/codec/batch_decoder.h"
#include "proto/codec/batch_encoder.h"
#include "tests/proto/codec/example_batch.h"

namespace vixen::codec {
namespace {

using kernels::ColumnId;
using testing::HasSubstr;

// Every encoding that is allowed: next_state only with state.
std::vector<v1::Encoding> AllEncodings() {
  std::vector<v1::Encoding> encodings;
  for (int bits = 0; bits < 32; ++bits) {
    const v1::Encoding encoding = EncodingOf(bits & 1, bits & 2, bits & 4, bits & 8, bits & 16);
    if (encoding.state() || !encoding.next_state()) encodings.push_back(encoding);
  }
  return encodings;
}

absl::StatusOr<DecodedBatch> Decode(const v1::Encoding& encoding,
                                    const std::vector<v1::CollectResponse>& messages) {
  auto decoder = BatchDecoder::Create(Example::Opened(encoding), encoding);
  if (!decoder.ok()) return decoder.status();
  for (const v1::CollectResponse& message : messages) {
    auto batch = decoder->Add(message);
    if (!batch.ok()) return batch.status();
    if (*batch) return std::move(**batch);
  }
  return absl::UnavailableError("the messages ended before the batch");
}

std::string BytesOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(BatchCodec, BringsEveryEncodingBackInChunksOfAnySize) {
  const Example example;
  for (const v1::Encoding& encoding : AllEncodings()) {
    for (const uint64_t chunk_bytes : {uint64_t{1}, uint64_t{7}, uint64_t{64}, uint64_t{1} << 20}) {
      SCOPED_TRACE(encoding.ShortDebugString() + " chunks of " + std::to_string(chunk_bytes));
      const auto decoded = Decode(encoding, example.Messages(encoding, chunk_bytes));
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      for (const kernels::ColumnSpec& spec : kernels::kColumns) {
        if (spec.id == ColumnId::kTerms && !encoding.terms()) {
          EXPECT_TRUE(decoded->batch.Column(spec.id).empty());
          continue;
        }
        // The example's values are exact in F16 as well.
        EXPECT_EQ(BytesOf(decoded->batch.Column(spec.id)), BytesOf(example.batch.Column(spec.id)))
            << spec.name;
      }
      EXPECT_EQ(decoded->header.sequence(), 6u);
      EXPECT_EQ(decoded->batch.statistics.term_sum[1], -3.25);
      EXPECT_EQ(decoded->batch.statistics.barrier_result[2], 7u);
      EXPECT_EQ(decoded->batch.start_states.size(), encoding.slot_states() ? 3u : 0u);
      if (encoding.slot_states()) {
        EXPECT_EQ(decoded->batch.start_states[2].rng, 102u);
      }
      EXPECT_EQ(decoded->state.size(), encoding.state() ? 15u * 7u : 0u);
    }
  }
}

TEST(BatchCodec, GathersStateFromTheBarAndNextStateFromTheBarAfterIt) {
  Example example;
  const v1::Encoding encoding = EncodingOf(false, true, true, false, false);
  const auto decoded = Decode(encoding, example.Messages(encoding, 100));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const size_t row = 6;  // bar 13
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(decoded->state[row * 7 + k], example.features[13 * 4 + k]);
    EXPECT_EQ(decoded->next_state[row * 7 + k], example.features[14 * 4 + k]);
  }
  EXPECT_EQ(decoded->state[row * 7 + 5], 7.25f);
  EXPECT_EQ(decoded->next_state[row * 7 + 5], 8.25f);
}

TEST(BatchCodec, GivesZerosForTheStateOfAnInvalidRow) {
  Example example;
  example.batch.view().flags[14] = 0;
  example.batch.view().bar[14] = 4'000'000'000u;
  example.batch.statistics.valid_rows = 14;
  const v1::Encoding encoding = EncodingOf(false, true, false, false, false);
  const auto decoded = Decode(encoding, example.Messages(encoding, 100));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  for (size_t k = 0; k < 7; ++k) EXPECT_EQ(decoded->state[14 * 7 + k], 0.0f);
}

TEST(BatchEncoder, SendsCompactAndTermsWithoutACopy) {
  const Example example;
  for (const bool terms : {false, true}) {
    const auto layout = ColumnLayout::Of(EncodingOf(terms, false, false, false, false), 7);
    const auto encoded = EncodeBatch(example.batch, *layout, example.market());
    ASSERT_TRUE(encoded.ok());
    EXPECT_TRUE(encoded->owned.empty());
    EXPECT_EQ(encoded->payload_bytes, (terms ? 62u : 42u) * 15u);
    if (terms) {
      EXPECT_EQ(encoded->Crc32c(), base::Crc32c(example.batch.payload()));
    }
  }
}

TEST(BatchEncoder, RefusesWhatTheBatchDoesNotHave) {
  const kernels::Batch plain(3, 5, false);
  const Example example;
  const auto terms = ColumnLayout::Of(EncodingOf(true, false, false, false, false), 7);
  EXPECT_EQ(EncodeBatch(plain, *terms, example.market()).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto slots = ColumnLayout::Of(EncodingOf(false, false, false, false, true), 7);
  EXPECT_EQ(EncodeBatch(plain, *slots, example.market()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ColumnLayout, RefusesNextStateWithoutState) {
  EXPECT_EQ(ColumnLayout::Of(EncodingOf(false, false, true, false, false), 7).status().code(),
            absl::StatusCode::kInvalidArgument);
}

class DecoderTest : public testing::Test {
 protected:
  // Changes the messages and gives what the decoder says to them.
  template <typename Change>
  absl::Status After(Change&& change, uint64_t chunk_bytes = 100) {
    std::vector<v1::CollectResponse> messages = example.Messages(encoding, chunk_bytes);
    change(messages);
    return Decode(encoding, messages).status();
  }
  void ExpectRefused(const absl::Status& status, const std::string& word) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(word));
  }

  Example example;
  v1::Encoding encoding;
};

TEST_F(DecoderTest, NamesAFlippedByteAsDataLoss) {
  const absl::Status status =
      After([](auto& messages) { (*messages[2].mutable_chunk()->mutable_data())[3] ^= 1; });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("batch 6"));
}

TEST_F(DecoderTest, RefusesMessagesOutOfOrder) {
  ExpectRefused(After([](auto& m) { std::swap(m[1], m[2]); }), "chunk.offset is 100");
  ExpectRefused(After([](auto& m) { m.erase(m.begin()); }), "before a header");
  ExpectRefused(After([](auto& m) { m.erase(m.begin() + 1, m.end() - 1); }), "after 0 of 630");
  ExpectRefused(After([](auto& m) { m[1] = m[0]; }), "inside a batch");
  ExpectRefused(After([](auto& m) { m[1].mutable_notice(); }), "notice");
  ExpectRefused(After([](auto& m) { m[1].mutable_opened(); }), "second `opened`");
  ExpectRefused(After([](auto& m) { m[1].Clear(); }), "empty");
  ExpectRefused(After([](auto& m) { m[1].mutable_chunk()->clear_data(); }), "empty");
  ExpectRefused(
      After([](auto& m) { m[m.size() - 2].mutable_chunk()->mutable_data()->append("x"); }),
      "beyond");
}

TEST_F(DecoderTest, RefusesAHeaderThatIsNotOfThisStream) {
  const auto with = [&](auto change) {
    return After([&](auto& messages) { change(*messages[0].mutable_header()); });
  };
  ExpectRefused(with([](auto& header) { header.set_run_id(1); }), "run_id");
  ExpectRefused(with([](auto& header) { header.set_episodes(0xFFFFFFFF); }), "episodes");
  ExpectRefused(with([](auto& header) { header.set_steps(0); }), "steps");
  ExpectRefused(with([](auto& header) { header.set_payload_bytes(1ull << 60); }), "payload_bytes");
  ExpectRefused(with([](auto& header) { header.set_settings_sha256("x"); }), "settings_sha256");
  ExpectRefused(with([](auto& header) { header.set_epsilon(NAN); }), "epsilon");
  ExpectRefused(with([](auto& header) { header.set_delivery(0); }), "delivery");
  ExpectRefused(with([](auto& header) { header.clear_precision(); }), "precision");
}

TEST_F(DecoderTest, RefusesRowsThatNoLaunchCanGive) {
  const auto with = [&](auto change) {
    example = Example();
    change(example.batch.view(), example.batch.statistics);
    return After([](auto&) {});
  };
  ExpectRefused(with([](auto view, auto&) { view.reward[4] = INFINITY; }), "row 4: reward is inf");
  ExpectRefused(with([](auto view, auto&) { view.td[4] = -1.0f; }), "row 4: td is -1");
  ExpectRefused(with([](auto view, auto&) { view.portfolio[14] = NAN; }), "row 4: portfolio");
  ExpectRefused(with([](auto view, auto&) { view.action[4] = 45; }), "row 4: action is 45");
  ExpectRefused(with([](auto view, auto&) { view.flags[4] = 64; }), "row 4: flags are 64");
  ExpectRefused(with([](auto view, auto&) { view.flags[4] = 7; }), "row 4: flags are 7");
  ExpectRefused(with([](auto view, auto&) { view.flags[4] = 2; }), "row 4: flags are 2");
  ExpectRefused(with([](auto, auto& statistics) { statistics.valid_rows = 3; }), "valid_rows");
  ExpectRefused(with([](auto, auto& statistics) { statistics.td_max = NAN; }), "td_max");
}

TEST_F(DecoderTest, RefusesStatisticsOfAnotherShape) {
  ExpectRefused(After([](auto& messages) {
                  messages.back().mutable_trailer()->mutable_statistics()->add_term_sum(1);
                }),
                "term_sum has 6");
}

TEST_F(DecoderTest, StaysRefusedAfterAnError) {
  auto decoder = BatchDecoder::Create(Example::Opened(encoding), encoding);
  ASSERT_TRUE(decoder.ok());
  EXPECT_EQ(decoder->AddChunk(0, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(decoder->Begin(Example::Header(630)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DecoderTest, TakesOneBatchAfterTheOther) {
  auto decoder = BatchDecoder::Create(Example::Opened(encoding), encoding);
  ASSERT_TRUE(decoder.ok());
  for (int i = 0; i < 3; ++i) {
    int batches = 0;
    for (const auto& message : example.Messages(encoding, 64)) {
      const auto batch = decoder->Add(message);
      ASSERT_TRUE(batch.ok()) << batch.status();
      batches += batch->has_value();
    }
    EXPECT_EQ(batches, 1);
  }
}

TEST_F(DecoderTest, RefusesAnOpenedThatDeclaresOtherColumns) {
  v1::Opened opened = Example::Opened(encoding);
  opened.mutable_columns(3)->set_width(4);
  const absl::Status status = BatchDecoder::Create(opened, encoding).status();
  ExpectRefused(status, "column 3");
  opened = Example::Opened(encoding);
  opened.mutable_columns()->RemoveLast();
  ExpectRefused(BatchDecoder::Create(opened, encoding).status(), "7 columns");
}

TEST_F(DecoderTest, TakesNoMemoryForABatchAboveTheLimit) {
  v1::Opened opened = Example::Opened(encoding);
  opened.set_episodes(65536);
  opened.set_steps(65536);
  ExpectRefused(BatchDecoder::Create(opened, encoding).status(), "the limit is");
  opened.set_episodes(65537);
  ExpectRefused(BatchDecoder::Create(opened, encoding).status(), "episodes is 65537");
}

}  // namespace
}  // namespace vixen::codec
