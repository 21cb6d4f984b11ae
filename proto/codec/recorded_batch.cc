// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/recorded_batch.h"

#include <google/protobuf/util/json_util.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "kernels/env/slot_state.h"
#include "proto/codec/convert.h"

namespace vixen::codec {
namespace {

constexpr std::string_view kFormat = "vixen.batch.v1";
constexpr uint32_t kMost = 65536;

base::DType DTypeOf(kernels::ElementType type) {
  switch (type) {
    case kernels::ElementType::kU8:
      return base::DType::kU8;
    case kernels::ElementType::kU32:
      return base::DType::kU32;
    case kernels::ElementType::kF32:
      return base::DType::kF32;
    case kernels::ElementType::kF16:
      return base::DType::kF16;
  }
  return base::DType::kU8;
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  if (auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
      !status.ok()) {
    return absl::InternalError(std::string(status.message()));
  }
  return json;
}

absl::StatusOr<std::string> Value(const base::TensorFile& file, std::string_view key) {
  const auto found = file.metadata().find(std::string(key));
  if (found != file.metadata().end()) return found->second;
  return absl::InvalidArgumentError(
      base::StrCat(file.source(), ": metadata \"", key, "\" is missing; not a recorded batch"));
}

absl::Status FromJson(const base::TensorFile& file, std::string_view key,
                      google::protobuf::Message& message) {
  VIXEN_ASSIGN_OR_RETURN(const std::string json, Value(file, key));
  if (auto status = google::protobuf::util::JsonStringToMessage(json, &message); !status.ok()) {
    return absl::InvalidArgumentError(
        base::StrCat(file.source(), ": metadata \"", key, "\": ", std::string(status.message())));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FromHex(const base::TensorFile& file, std::string_view key) {
  VIXEN_ASSIGN_OR_RETURN(const std::string digits, Value(file, key));
  for (const char digit : digits) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(digit)) || digits.size() % 2 != 0) {
      return absl::InvalidArgumentError(
          base::StrCat(file.source(), ": metadata \"", key, "\" is not hexadecimal"));
    }
  }
  return absl::HexStringToBytes(digits);
}

std::vector<int64_t> ShapeOf(const kernels::Batch& batch, uint32_t width) {
  std::vector<int64_t> shape = {batch.episodes(), batch.steps()};
  if (width > 1) shape.push_back(width);
  return shape;
}

// The dimensions decide how much is allocated: they must agree with a tensor that is really there.
absl::Status CheckDimensions(const base::TensorFile& file, const v1::BatchHeader& header) {
  if (header.episodes() < 1 || header.episodes() > kMost || header.steps() < 1 ||
      header.steps() > kMost) {
    return absl::InvalidArgumentError(base::StrCat(file.source(), ": header says ",
                                                   header.episodes(), " x ", header.steps(),
                                                   " rows, allowed is 1 to ", kMost, " each"));
  }
  return file.Get<uint32_t>("bar", {header.episodes(), header.steps()}).status();
}

absl::Status ReadColumns(const base::TensorFile& file, kernels::Batch& batch) {
  for (const kernels::ColumnSpec& spec : kernels::kColumns) {
    const std::span<std::byte> destination = batch.MutableColumn(spec.id);
    if (destination.empty()) continue;
    const base::TensorView* tensor = file.Find(spec.name);
    const std::vector<int64_t> shape = ShapeOf(batch, spec.width);
    if (tensor == nullptr) {
      return absl::InvalidArgumentError(
          base::StrCat(file.source(), ": tensor \"", spec.name, "\" is missing"));
    }
    if (tensor->dtype != DTypeOf(spec.type) || tensor->shape != shape) {
      return absl::InvalidArgumentError(
          base::StrCat(file.source(), ": tensor \"", spec.name, "\" is ", tensor->Describe(), ", ",
                       base::DTypeName(DTypeOf(spec.type)), " of ", batch.rows() * spec.width,
                       " elements is needed"));
    }
    std::memcpy(destination.data(), tensor->bytes.data(), destination.size());
  }
  return absl::OkStatus();
}

absl::Status ReadStates(const base::TensorFile& file, std::string_view name, int64_t width,
                        const kernels::Batch& batch, std::vector<float>& states) {
  if (file.Find(name) == nullptr) return absl::OkStatus();
  VIXEN_ASSIGN_OR_RETURN(const std::span<const float> values,
                         file.Get<float>(name, {batch.episodes(), batch.steps(), width}));
  states.assign(values.begin(), values.end());
  return absl::OkStatus();
}

absl::Status ReadSlotStates(const base::TensorFile& file, kernels::Batch& batch) {
  if (file.Find(kSlotStatesColumn) == nullptr) return absl::OkStatus();
  VIXEN_ASSIGN_OR_RETURN(
      const std::span<const uint8_t> bytes,
      file.Get<uint8_t>(kSlotStatesColumn,
                        {batch.episodes(), static_cast<int64_t>(sizeof(kernels::SlotState))}));
  batch.start_states.resize(batch.episodes());
  std::memcpy(batch.start_states.data(), bytes.data(), bytes.size());
  return absl::OkStatus();
}

}  // namespace

RecordedBatch RecordOf(DecodedBatch decoded, const v1::Opened& opened) {
  return {.header = std::move(decoded.header),
          .trailer = std::move(decoded.trailer),
          .settings = opened.settings(),
          .architecture = opened.architecture(),
          .dataset_fingerprint = opened.dataset_fingerprint(),
          .scaler_fingerprint = opened.scaler_fingerprint(),
          .batch = std::move(decoded.batch),
          .state = std::move(decoded.state),
          .next_state = std::move(decoded.next_state)};
}

absl::Status WriteRecordedBatch(const std::string& path, const RecordedBatch& recorded) {
  const kernels::Batch& batch = recorded.batch;
  VIXEN_ASSIGN_OR_RETURN(std::string header, ToJson(recorded.header));
  VIXEN_ASSIGN_OR_RETURN(std::string trailer, ToJson(recorded.trailer));
  VIXEN_ASSIGN_OR_RETURN(std::string architecture, ToJson(recorded.architecture));
  base::TensorFileWriter writer;
  writer.Metadata("format", std::string(kFormat))
      .Metadata("header", std::move(header))
      .Metadata("trailer", std::move(trailer))
      .Metadata("architecture", std::move(architecture))
      .Metadata("settings", absl::BytesToHexString(recorded.settings))
      .Metadata("dataset_fingerprint", absl::BytesToHexString(recorded.dataset_fingerprint))
      .Metadata("scaler_fingerprint", absl::BytesToHexString(recorded.scaler_fingerprint));
  for (const kernels::ColumnSpec& spec : kernels::kColumns) {
    const std::span<const std::byte> column = batch.Column(spec.id);
    if (column.empty()) continue;
    writer.Tensor(std::string(spec.name), DTypeOf(spec.type), ShapeOf(batch, spec.width), column);
  }
  const auto width = static_cast<uint32_t>(FromProto(recorded.architecture).state());
  if (!recorded.state.empty()) {
    writer.Tensor<float>(std::string(kStateColumn), ShapeOf(batch, width), recorded.state);
  }
  if (!recorded.next_state.empty()) {
    writer.Tensor<float>(std::string(kNextStateColumn), ShapeOf(batch, width), recorded.next_state);
  }
  if (!batch.start_states.empty()) {
    writer.Tensor(std::string(kSlotStatesColumn), base::DType::kU8,
                  {batch.episodes(), static_cast<int64_t>(sizeof(kernels::SlotState))},
                  std::as_bytes(std::span(batch.start_states)));
  }
  return writer.Write(path);
}

absl::StatusOr<RecordedBatch> ReadRecordedBatch(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file, base::TensorFile::Open(path));
  VIXEN_ASSIGN_OR_RETURN(const std::string format, Value(file, "format"));
  if (format != kFormat) {
    return absl::InvalidArgumentError(
        base::StrCat(path, ": format is \"", format, "\", \"", kFormat, "\" is needed"));
  }
  v1::BatchHeader header;
  v1::BatchTrailer trailer;
  v1::Architecture architecture;
  VIXEN_RETURN_IF_ERROR(FromJson(file, "header", header));
  VIXEN_RETURN_IF_ERROR(FromJson(file, "trailer", trailer));
  VIXEN_RETURN_IF_ERROR(FromJson(file, "architecture", architecture));
  VIXEN_RETURN_IF_ERROR(CheckDimensions(file, header));
  RecordedBatch recorded{
      .header = header,
      .trailer = trailer,
      .architecture = architecture,
      .batch = kernels::Batch(header.episodes(), header.steps(), file.Find("terms") != nullptr)};
  VIXEN_ASSIGN_OR_RETURN(recorded.settings, FromHex(file, "settings"));
  VIXEN_ASSIGN_OR_RETURN(recorded.dataset_fingerprint, FromHex(file, "dataset_fingerprint"));
  VIXEN_ASSIGN_OR_RETURN(recorded.scaler_fingerprint, FromHex(file, "scaler_fingerprint"));
  const base::Sha256Digest sha256 = base::Sha256Of(recorded.settings);
  if (std::string(sha256.begin(), sha256.end()) != header.settings_sha256()) {
    return absl::InvalidArgumentError(
        base::StrCat(path, ": header.settings_sha256 is not that of metadata \"settings\""));
  }
  VIXEN_RETURN_IF_ERROR(ReadColumns(file, recorded.batch));
  const int64_t width = FromProto(architecture).state();
  VIXEN_RETURN_IF_ERROR(ReadStates(file, kStateColumn, width, recorded.batch, recorded.state));
  VIXEN_RETURN_IF_ERROR(
      ReadStates(file, kNextStateColumn, width, recorded.batch, recorded.next_state));
  VIXEN_RETURN_IF_ERROR(ReadSlotStates(file, recorded.batch));
  absl::StatusOr<kernels::LaunchStatistics> statistics = FromProto(trailer.statistics());
  if (statistics.ok()) recorded.batch.statistics = *statistics;
  const absl::Status rows = statistics.ok() ? CheckRows(recorded.batch) : statistics.status();
  if (!rows.ok()) return absl::InvalidArgumentError(base::StrCat(path, ": ", rows.message()));
  return recorded;
}

}  // namespace vixen::codec
