// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/batch_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/env/slot_state.h"
#include "proto/codec/convert.h"
#include "proto/codec/half.h"

namespace vixen::codec {
namespace {

constexpr uint32_t kMostEpisodes = 65536;
constexpr uint32_t kMostSteps = 65536;
constexpr uint32_t kMostFeatures = 253;
constexpr size_t kKeptBuffers = 4;
// Summed and copied while they are in the nearest cache, so that they are fetched once.
constexpr uint64_t kCopiedAtOnce = 4096;

absl::Status Wrong(std::string_view what, uint64_t value, uint64_t expected) {
  return absl::InvalidArgumentError(
      base::StrCat(what, " is ", value, ", ", expected, " was expected"));
}

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

}  // namespace

absl::StatusOr<BatchDecoder> BatchDecoder::Create(const v1::Opened& opened,
                                                  const v1::Encoding& encoding,
                                                  uint64_t max_payload_bytes) {
  if (opened.episodes() < 1 || opened.episodes() > kMostEpisodes) {
    return absl::InvalidArgumentError(base::StrCat("opened.episodes is ", opened.episodes(),
                                                   ", allowed is 1 to ", kMostEpisodes));
  }
  if (opened.steps() < 1 || opened.steps() > kMostSteps) {
    return absl::InvalidArgumentError(
        base::StrCat("opened.steps is ", opened.steps(), ", allowed is 1 to ", kMostSteps));
  }
  const uint32_t features = opened.architecture().features();
  if (features < 1 || features > kMostFeatures) {
    return absl::InvalidArgumentError(base::StrCat("opened.architecture.features is ", features,
                                                   ", allowed is 1 to ", kMostFeatures));
  }
  VIXEN_ASSIGN_OR_RETURN(ColumnLayout layout,
                         ColumnLayout::Of(encoding, FromProto(opened.architecture()).state()));
  VIXEN_RETURN_IF_ERROR(layout.CheckDeclared(opened.columns()));
  const uint64_t payload = layout.PayloadBytes(opened.episodes(), opened.steps());
  if (payload > max_payload_bytes) {
    return absl::InvalidArgumentError(
        base::StrCat("a batch of ", opened.episodes(), " x ", opened.steps(), " rows has ", payload,
                     " bytes in this encoding, the limit is ", max_payload_bytes));
  }
  const base::Sha256Digest sha256 = base::Sha256Of(opened.settings());
  return BatchDecoder(opened, std::move(layout), std::string(sha256.begin(), sha256.end()));
}

BatchDecoder::BatchDecoder(const v1::Opened& opened, ColumnLayout layout,
                           std::string settings_sha256)
    : opened_(opened),
      layout_(std::move(layout)),
      settings_sha256_(std::move(settings_sha256)),
      payload_bytes_(layout_.PayloadBytes(opened.episodes(), opened.steps())),
      buffers_(kernels::Batch::PayloadBytes(size_t{opened.episodes()} * opened.steps(),
                                            layout_.encoding().terms()),
               kKeptBuffers) {}

absl::StatusOr<std::optional<DecodedBatch>> BatchDecoder::Add(const v1::CollectResponse& response) {
  switch (response.part_case()) {
    case v1::CollectResponse::kHeader:
      VIXEN_RETURN_IF_ERROR(Begin(response.header()));
      return std::nullopt;
    case v1::CollectResponse::kChunk: {
      const std::span<const std::byte> data = AsBytes(response.chunk().data());
      VIXEN_RETURN_IF_ERROR(AddChunk(response.chunk().offset(), {&data, 1}));
      return std::nullopt;
    }
    case v1::CollectResponse::kTrailer: {
      VIXEN_ASSIGN_OR_RETURN(DecodedBatch batch, Finish(response.trailer()));
      return std::optional<DecodedBatch>(std::move(batch));
    }
    case v1::CollectResponse::kNotice:
      if (current_) {
        failed_ = true;
        return absl::InvalidArgumentError("a notice came inside a batch");
      }
      return std::nullopt;
    case v1::CollectResponse::kOpened:
      failed_ = true;
      return absl::InvalidArgumentError("a second `opened` came");
    case v1::CollectResponse::PART_NOT_SET:
      break;
  }
  failed_ = true;
  return absl::InvalidArgumentError("an empty or unknown message came");
}

absl::Status BatchDecoder::CheckHeader(const v1::BatchHeader& header) const {
  if (header.run_id() != opened_.run_id()) {
    return Wrong("header.run_id", header.run_id(), opened_.run_id());
  }
  if (header.episodes() != opened_.episodes()) {
    return Wrong("header.episodes", header.episodes(), opened_.episodes());
  }
  if (header.steps() != opened_.steps()) {
    return Wrong("header.steps", header.steps(), opened_.steps());
  }
  if (header.payload_bytes() != payload_bytes_) {
    return Wrong("header.payload_bytes", header.payload_bytes(), payload_bytes_);
  }
  if (header.settings_sha256() != settings_sha256_) {
    return absl::InvalidArgumentError(
        "header.settings_sha256 is not that of the settings in `opened`");
  }
  if (!(header.epsilon() >= 0.0f && header.epsilon() <= 1.0f)) {
    return absl::InvalidArgumentError(
        base::StrCat("header.epsilon is ", header.epsilon(), ", allowed is 0 to 1"));
  }
  if (header.delivery() < 1) return absl::InvalidArgumentError("header.delivery is 0");
  return FromProto(header.precision()).status();
}

absl::Status BatchDecoder::Begin(const v1::BatchHeader& header) {
  if (failed_) return absl::FailedPreconditionError("the stream was refused before");
  const bool inside = current_.has_value();
  failed_ = true;
  if (inside) return absl::InvalidArgumentError("a header came inside a batch");
  VIXEN_RETURN_IF_ERROR(CheckHeader(header));
  failed_ = false;
  current_.emplace(
      DecodedBatch{.header = header,
                   .batch = kernels::Batch(header.episodes(), header.steps(),
                                           layout_.encoding().terms(), buffers_.Take())});
  PrepareTargets();
  return absl::OkStatus();
}

std::span<std::byte> BatchDecoder::Destination(const WireColumn& column) {
  DecodedBatch& decoded = *current_;
  if (column.id) return decoded.batch.MutableColumn(*column.id);
  if (column.name == kSlotStatesColumn) {
    decoded.batch.start_states.resize(decoded.batch.episodes());
    return std::as_writable_bytes(std::span(decoded.batch.start_states));
  }
  std::vector<float>& states = column.name == kStateColumn ? decoded.state : decoded.next_state;
  states.resize(decoded.batch.rows() * column.width);
  return std::as_writable_bytes(std::span(states));
}

void BatchDecoder::PrepareTargets() {
  const uint32_t episodes = current_->batch.episodes();
  const uint32_t steps = current_->batch.steps();
  uint64_t half_bytes = 0;
  for (const WireColumn& column : layout_.columns()) {
    if (column.type == kernels::ElementType::kF16) half_bytes += column.Bytes(episodes, steps);
  }
  halves_.resize(half_bytes);
  targets_.clear();
  std::byte* half = halves_.data();
  for (const WireColumn& column : layout_.columns()) {
    const uint64_t bytes = column.Bytes(episodes, steps);
    std::byte* data = Destination(column).data();
    if (column.type == kernels::ElementType::kF16) {
      data = half;
      half += bytes;
    }
    targets_.push_back({data, bytes});
  }
  target_ = 0;
  target_offset_ = 0;
  received_ = 0;
  crc32c_ = 0;
}

absl::Status BatchDecoder::CheckChunk(uint64_t offset, uint64_t bytes) const {
  if (!current_) return absl::InvalidArgumentError("a chunk came before a header");
  if (offset != received_) return Wrong("chunk.offset", offset, received_);
  if (bytes == 0) return absl::InvalidArgumentError("chunk.data is empty");
  if (opened_.chunk_bytes() != 0 && bytes > opened_.chunk_bytes()) {
    return absl::InvalidArgumentError(base::StrCat(
        "chunk.data has ", bytes, " bytes, opened.chunk_bytes is ", opened_.chunk_bytes()));
  }
  if (bytes > payload_bytes_ - received_) {
    return absl::InvalidArgumentError(base::StrCat("chunk of ", bytes, " bytes at ", offset,
                                                   " goes beyond the payload's ", payload_bytes_));
  }
  return absl::OkStatus();
}

absl::Status BatchDecoder::AddChunk(uint64_t offset,
                                    std::span<const std::span<const std::byte>> pieces) {
  if (failed_) return absl::FailedPreconditionError("the stream was refused before");
  uint64_t bytes = 0;
  for (const std::span<const std::byte> piece : pieces) bytes += piece.size();
  absl::Status checked = CheckChunk(offset, bytes);
  failed_ = !checked.ok();
  if (failed_) return checked;
  for (const std::span<const std::byte> piece : pieces) Take(piece);
  return absl::OkStatus();
}

void BatchDecoder::Take(std::span<const std::byte> data) {
  received_ += data.size();
  while (!data.empty()) {
    const Target& target = targets_[target_];
    const uint64_t taken =
        std::min<uint64_t>({data.size(), target.bytes - target_offset_, kCopiedAtOnce});
    crc32c_ = base::ExtendCrc32c(crc32c_, data.first(taken));
    std::memcpy(target.data + target_offset_, data.data(), taken);
    data = data.subspan(taken);
    target_offset_ += taken;
    if (target_offset_ == target.bytes) {
      ++target_;
      target_offset_ = 0;
    }
  }
}

void BatchDecoder::Widen() {
  const std::byte* half = halves_.data();
  std::vector<float> floats;
  for (const WireColumn& column : layout_.columns()) {
    if (column.type != kernels::ElementType::kF16) continue;
    const std::span<std::byte> destination = Destination(column);
    floats.resize(destination.size() / sizeof(float));
    HalvesToFloats(reinterpret_cast<const uint16_t*>(half), floats);
    std::memcpy(destination.data(), floats.data(), destination.size());
    half += floats.size() * sizeof(uint16_t);
  }
}

absl::StatusOr<DecodedBatch> BatchDecoder::Finish(const v1::BatchTrailer& trailer) {
  if (failed_) return absl::FailedPreconditionError("the stream was refused before");
  failed_ = true;
  if (!current_) return absl::InvalidArgumentError("a trailer came before a header");
  if (received_ != payload_bytes_) {
    return absl::InvalidArgumentError(
        base::StrCat("the trailer came after ", received_, " of ", payload_bytes_, " bytes"));
  }
  if (crc32c_ != trailer.crc32c()) {
    return absl::DataLossError(
        base::StrCat("batch ", current_->header.sequence(), ": CRC-32C of the payload is ",
                     absl::Hex(crc32c_, absl::kZeroPad8), ", the trailer says ",
                     absl::Hex(trailer.crc32c(), absl::kZeroPad8)));
  }
  Widen();
  VIXEN_ASSIGN_OR_RETURN(current_->batch.statistics, FromProto(trailer.statistics()));
  if (absl::Status rows = CheckRows(current_->batch); !rows.ok()) {
    return absl::InvalidArgumentError(
        base::StrCat("batch ", current_->header.sequence(), ": ", rows.message()));
  }
  failed_ = false;
  current_->trailer = trailer;
  DecodedBatch decoded = std::move(*current_);
  current_.reset();
  return decoded;
}

}  // namespace vixen::codec
