// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/chunk_view.h"

#include <google/protobuf/io/coded_stream.h>

#include <array>

#include "vixen/v1/actor.pb.h"

namespace vixen::transport {
namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kLengthDelimited = 2;
constexpr uint32_t Tag(int field, uint32_t wire_type) {
  return (static_cast<uint32_t>(field) << 3) | wire_type;
}
constexpr uint32_t kChunkTag = Tag(v1::CollectResponse::kChunkFieldNumber, kLengthDelimited);
constexpr uint32_t kOffsetTag = Tag(v1::BatchChunk::kOffsetFieldNumber, kVarint);
constexpr uint32_t kDataTag = Tag(v1::BatchChunk::kDataFieldNumber, kLengthDelimited);

// Reads varints across the borders of pieces.
class Cursor {
 public:
  explicit Cursor(std::span<const Bytes> pieces) : pieces_(pieces) {
    for (const Bytes piece : pieces) left_ += piece.size();
  }

  uint64_t left() const { return left_; }

  std::optional<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      while (!pieces_.empty() && at_ == pieces_.front().size()) NextPiece();
      if (pieces_.empty()) return std::nullopt;
      const auto byte = static_cast<uint8_t>(pieces_.front()[at_++]);
      --left_;
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::vector<Bytes> Rest() const {
    std::vector<Bytes> rest;
    rest.reserve(pieces_.size());
    size_t skipped = at_;
    for (const Bytes piece : pieces_) {
      if (piece.size() > skipped) rest.push_back(piece.subspan(skipped));
      skipped = 0;
    }
    return rest;
  }

 private:
  void NextPiece() {
    pieces_ = pieces_.subspan(1);
    at_ = 0;
  }

  std::span<const Bytes> pieces_;
  size_t at_ = 0;
  uint64_t left_ = 0;
};

}  // namespace

std::optional<ChunkView> ViewChunk(std::span<const Bytes> message) {
  Cursor cursor(message);
  ChunkView view;
  if (cursor.Varint() != kChunkTag) return std::nullopt;
  const std::optional<uint64_t> chunk_bytes = cursor.Varint();
  if (chunk_bytes != cursor.left()) return std::nullopt;
  std::optional<uint64_t> tag = cursor.Varint();
  if (tag == kOffsetTag) {
    const std::optional<uint64_t> offset = cursor.Varint();
    if (!offset) return std::nullopt;
    view.offset = *offset;
    tag = cursor.Varint();
  }
  if (tag != kDataTag) return std::nullopt;
  const std::optional<uint64_t> data_bytes = cursor.Varint();
  if (data_bytes != cursor.left()) return std::nullopt;
  view.data = cursor.Rest();
  return view;
}

std::string ChunkHead(uint64_t offset, uint32_t size) {
  using google::protobuf::io::CodedOutputStream;
  const size_t offset_bytes = offset == 0 ? 0 : 1 + CodedOutputStream::VarintSize64(offset);
  const uint64_t chunk_bytes = offset_bytes + 1 + CodedOutputStream::VarintSize32(size) + size;
  std::array<uint8_t, 32> head;
  uint8_t* at = head.data();
  at = CodedOutputStream::WriteTagToArray(kChunkTag, at);
  at = CodedOutputStream::WriteVarint64ToArray(chunk_bytes, at);
  if (offset != 0) {
    at = CodedOutputStream::WriteTagToArray(kOffsetTag, at);
    at = CodedOutputStream::WriteVarint64ToArray(offset, at);
  }
  at = CodedOutputStream::WriteTagToArray(kDataTag, at);
  at = CodedOutputStream::WriteVarint32ToArray(size, at);
  return std::string(head.data(), at);
}

}  // namespace vixen::transport
