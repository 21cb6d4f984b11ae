// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/collect_call.h"

#include <gmock/gmock.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "proto/transport/chunk_view.h"
#include "tests/proto/codec/example_batch.h"

namespace vixen::transport {
namespace {

using codec::BatchDecoder;
using codec::Example;
using ::testing::HasSubstr;

// `bytes` in slices of `piece` bytes, as a transport may deliver them.
grpc::ByteBuffer InPieces(const std::string& bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    slices.emplace_back(bytes.substr(at, piece));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::vector<Bytes> Pieces(const std::string& bytes, size_t piece) {
  std::vector<Bytes> pieces;
  const Bytes all = std::as_bytes(std::span<const char>(bytes));
  for (size_t at = 0; at < all.size(); at += piece) {
    pieces.push_back(all.subspan(at, std::min(piece, all.size() - at)));
  }
  return pieces;
}

std::string Joined(const ChunkView& view) {
  std::string bytes;
  for (const Bytes piece : view.data) {
    EXPECT_FALSE(piece.empty());
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return bytes;
}

v1::CollectResponse Chunk(uint64_t offset, const std::string& data) {
  v1::CollectResponse response;
  response.mutable_chunk()->set_offset(offset);
  response.mutable_chunk()->set_data(data);
  return response;
}

TEST(ChunkView, FindsTheDataWhereverTheMessageIsCut) {
  const std::string data(300, 'x');
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 20, UINT64_MAX}) {
    const std::string bytes = Chunk(offset, data).SerializeAsString();
    for (size_t piece = 1; piece <= bytes.size(); ++piece) {
      const auto view = ViewChunk(Pieces(bytes, piece));
      ASSERT_TRUE(view.has_value()) << piece;
      EXPECT_EQ(view->offset, offset);
      EXPECT_EQ(Joined(*view), data);
    }
  }
}

TEST(ChunkView, ReadsWhatTheWriterWroteAsProtobufWouldWriteIt) {
  for (const size_t size : {1u, 127u, 128u, 1u << 20, 3u << 20}) {
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{3} << 20, UINT64_MAX}) {
      const std::string data(size, 'x');
      const std::string bytes = ChunkHead(offset, static_cast<uint32_t>(size)) + data;
      EXPECT_TRUE(bytes == Chunk(offset, data).SerializeAsString()) << size << " at " << offset;
      const auto view = ViewChunk(Pieces(bytes, bytes.size()));
      ASSERT_TRUE(view.has_value()) << size << " at " << offset;
      EXPECT_EQ(view->offset, offset);
      EXPECT_TRUE(Joined(*view) == data) << size << " at " << offset;
    }
  }
}

TEST(ChunkView, LeavesToProtobufWhatIsNotExactlyOneChunk) {
  const std::string chunk = Chunk(5, "abc").SerializeAsString();
  v1::CollectResponse notice;
  notice.mutable_notice()->set_text("hello");
  v1::CollectResponse no_data;
  no_data.mutable_chunk()->set_offset(3);
  const std::string reversed = std::string("\x1a\x07\x12\x03", 4) + "abc" + "\x08\x05";
  for (const std::string& bytes :
       {std::string(), notice.SerializeAsString(), no_data.SerializeAsString(), chunk + chunk,
        chunk.substr(0, chunk.size() - 1), chunk.substr(0, 1), chunk + std::string(1, '\0'),
        std::string(12, '\xff'), reversed}) {
    EXPECT_FALSE(ViewChunk(Pieces(bytes, 3)).has_value()) << bytes.size();
  }
}

TEST(AddTo, GivesTheSameBatchAsParsedMessagesInEveryEncoding) {
  const Example example;
  for (int bits = 0; bits < 32; ++bits) {
    const v1::Encoding encoding = codec::EncodingOf(
        (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0);
    if (encoding.next_state() && !encoding.state()) continue;
    auto parsed = BatchDecoder::Create(Example::Opened(encoding), encoding);
    auto viewed = BatchDecoder::Create(Example::Opened(encoding), encoding);
    ASSERT_TRUE(parsed.ok() && viewed.ok());
    std::optional<codec::DecodedBatch> expected;
    std::optional<codec::DecodedBatch> found;
    for (const v1::CollectResponse& message : example.Messages(encoding, 101)) {
      expected = *parsed->Add(message);
      v1::CollectResponse response;
      auto added = AddTo(*viewed, InPieces(message.SerializeAsString(), 7), response);
      ASSERT_TRUE(added.ok()) << added.status();
      found = std::move(*added);
      EXPECT_EQ(response.part_case(),
                message.has_chunk() ? v1::CollectResponse::PART_NOT_SET : message.part_case());
    }
    ASSERT_TRUE(expected && found);
    EXPECT_TRUE(std::ranges::equal(found->batch.payload(), expected->batch.payload()));
    EXPECT_EQ(found->state, expected->state);
    EXPECT_EQ(found->next_state, expected->next_state);
    EXPECT_EQ(found->batch.start_states.size(), expected->batch.start_states.size());
  }
}

TEST(AddTo, ReadsAChunkInAnotherOrderAsProtobufDoes) {
  const Example example;
  auto decoder = BatchDecoder::Create(Example::Opened({}), {});
  ASSERT_TRUE(decoder.ok());
  const std::vector<v1::CollectResponse> messages = example.Messages({}, 1 << 20);
  v1::CollectResponse response;
  ASSERT_TRUE(AddTo(*decoder, InPieces(messages[0].SerializeAsString(), 9), response).ok());
  const std::string& data = messages[1].chunk().data();
  std::string bytes = messages[1].SerializeAsString();
  // An unknown field after the chunk: not what our actor sends, and still valid.
  bytes += std::string("\x78\x01", 2);
  ASSERT_TRUE(AddTo(*decoder, InPieces(bytes, 50), response).ok());
  EXPECT_EQ(response.chunk().data(), data);
  const auto done = AddTo(*decoder, InPieces(messages[2].SerializeAsString(), 9), response);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_TRUE(done->has_value());
}

TEST(AddTo, RefusesBytesThatAreNoMessage) {
  auto decoder = BatchDecoder::Create(Example::Opened({}), {});
  ASSERT_TRUE(decoder.ok());
  v1::CollectResponse response;
  const auto added = AddTo(*decoder, InPieces(std::string(20, '\xff'), 6), response);
  EXPECT_EQ(added.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(added.status().message(), HasSubstr("CollectResponse"));
}

}  // namespace
}  // namespace vixen::transport
