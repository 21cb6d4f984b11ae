// SPDX-License-Identifier: Apache-2.0
#include "proto/transport/chunk_view.h"

#include "vixen/v1/actor.pb.h"

namespace vixen::transport {
namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kLengthDelimited = 2;
constexpr uint64_t Tag(int field, uint32_t wire_type) {
  return (static_cast<uint64_t>(field) << 3) | wire_type;
}

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
  if (cursor.Varint() != Tag(v1::CollectResponse::kChunkFieldNumber, kLengthDelimited)) {
    return std::nullopt;
  }
  const std::optional<uint64_t> chunk_bytes = cursor.Varint();
  if (chunk_bytes != cursor.left()) return std::nullopt;
  std::optional<uint64_t> tag = cursor.Varint();
  if (tag == Tag(v1::BatchChunk::kOffsetFieldNumber, kVarint)) {
    const std::optional<uint64_t> offset = cursor.Varint();
    if (!offset) return std::nullopt;
    view.offset = *offset;
    tag = cursor.Varint();
  }
  if (tag != Tag(v1::BatchChunk::kDataFieldNumber, kLengthDelimited)) return std::nullopt;
  const std::optional<uint64_t> data_bytes = cursor.Varint();
  if (data_bytes != cursor.left()) return std::nullopt;
  view.data = cursor.Rest();
  return view;
}

}  // namespace vixen::transport
