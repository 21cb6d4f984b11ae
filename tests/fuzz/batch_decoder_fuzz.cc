// SPDX-License-Identifier: Apache-2.0
// A hostile actor. First byte: the encoding asked for, and whether trailers get the right CRC,
// which no mutation would find. Each message goes into one decoder in pieces and into another one
// as protobuf reads it: both must judge alike and give the same rows.
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "proto/codec/batch_decoder.h"
#include "proto/transport/collect_call.h"
#include "tests/fuzz/messages.h"
#include "vixen/v1/actor.pb.h"

namespace {

using vixen::codec::BatchDecoder;
using vixen::codec::DecodedBatch;

constexpr uint64_t kMostPayload = uint64_t{1} << 20;

void Check(bool holds) {
  if (!holds) std::abort();
}

grpc::ByteBuffer InPieces(const std::string& bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    slices.emplace_back(bytes.substr(at, piece));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void CheckEqual(const std::optional<DecodedBatch>& a, const std::optional<DecodedBatch>& b) {
  Check(a.has_value() == b.has_value());
  if (!a) return;
  Check(std::ranges::equal(a->batch.payload(), b->batch.payload()));
  Check(a->state.size() == b->state.size());
  Check(a->batch.statistics.valid_rows == b->batch.statistics.valid_rows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  vixen::v1::Encoding encoding;
  encoding.set_terms((data[0] & 1) != 0);
  encoding.set_state((data[0] & 2) != 0);
  encoding.set_next_state((data[0] & 4) != 0);
  encoding.set_fp16((data[0] & 8) != 0);
  encoding.set_slot_states((data[0] & 16) != 0);
  const bool right_crc = (data[0] & 32) != 0;
  const size_t piece = size_t{1} + data[1];
  vixen::fuzz::Messages messages({data + 2, size - 2});

  std::optional<BatchDecoder> viewed;
  std::optional<BatchDecoder> parsed;
  uint32_t crc = 0;
  while (std::optional<std::string> bytes = messages.Next()) {
    vixen::v1::CollectResponse message;
    const bool readable = message.ParseFromString(*bytes);
    if (readable && message.has_opened()) {
      auto created = BatchDecoder::Create(message.opened(), encoding, kMostPayload);
      auto again = BatchDecoder::Create(message.opened(), encoding, kMostPayload);
      Check(created.ok() == again.ok());
      if (created.ok()) {
        viewed.emplace(*std::move(created));
        parsed.emplace(*std::move(again));
      }
      continue;
    }
    if (!viewed) continue;
    if (readable && message.has_header()) crc = 0;
    if (readable && message.has_chunk()) {
      crc = vixen::base::ExtendCrc32c(crc,
                                      std::as_bytes(std::span<const char>(message.chunk().data())));
    }
    if (readable && message.has_trailer() && right_crc) {
      message.mutable_trailer()->set_crc32c(crc);
      bytes = message.SerializeAsString();
    }
    vixen::v1::CollectResponse response;
    auto in_pieces = vixen::transport::AddTo(*viewed, InPieces(*bytes, piece), response);
    if (!readable) {
      Check(!in_pieces.ok());
      return 0;
    }
    auto as_message = parsed->Add(message);
    Check(in_pieces.status().code() == as_message.status().code());
    if (!in_pieces.ok()) {
      viewed.reset();
      parsed.reset();
      continue;
    }
    CheckEqual(*in_pieces, *as_message);
  }
  return 0;
}
