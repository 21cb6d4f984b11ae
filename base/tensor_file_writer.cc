// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "base/tensor_header.h"

namespace vixen::base {
namespace {

constexpr size_t kAlignment = 8;

absl::StatusOr<std::string> Quote(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(
        StrCat("tensor file: \"", PrintableName(text), "\" is not UTF-8"));
  }
}

absl::Status CheckTensor(const TensorView& tensor) {
  int64_t elements = 0;
  const bool fits = ShapeElements(tensor.shape, elements);
  const size_t width = DTypeBytes(tensor.dtype);
  if (!fits || static_cast<size_t>(elements) != tensor.bytes.size() / width ||
      tensor.bytes.size() % width != 0) {
    return absl::InvalidArgumentError(StrCat("tensor \"", PrintableName(tensor.name),
                                             "\": ", tensor.Describe(), " does not describe ",
                                             tensor.bytes.size(), " bytes"));
  }
  if (tensor.name == "__metadata__") {
    return absl::InvalidArgumentError("tensor \"__metadata__\": the name is reserved");
  }
  return absl::OkStatus();
}

}  // namespace

TensorFileWriter& TensorFileWriter::Metadata(std::string key, std::string value) {
  metadata_[std::move(key)] = std::move(value);
  return *this;
}

TensorFileWriter& TensorFileWriter::Tensor(std::string name, DType dtype,
                                           std::vector<int64_t> shape,
                                           std::span<const std::byte> bytes) {
  // Wider types first: every tensor then begins at a multiple of its width without padding.
  const auto place = std::upper_bound(
      tensors_.begin(), tensors_.end(), DTypeBytes(dtype),
      [](size_t width, const TensorView& other) { return width > DTypeBytes(other.dtype); });
  tensors_.insert(place, TensorView{std::move(name), dtype, std::move(shape), bytes});
  return *this;
}

absl::StatusOr<std::string> ComposeTensorHeader(const std::map<std::string, std::string>& metadata,
                                                std::span<const TensorView> tensors,
                                                size_t least_bytes) {
  std::string json = "{\"__metadata__\":{";
  std::string_view separator = "";
  for (const auto& [key, value] : metadata) {
    VIXEN_ASSIGN_OR_RETURN(const std::string quoted_key, Quote(key));
    VIXEN_ASSIGN_OR_RETURN(const std::string quoted_value, Quote(value));
    StrAppend(&json, separator, quoted_key, ":", quoted_value);
    separator = ",";
  }
  json += "}";
  uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    VIXEN_ASSIGN_OR_RETURN(const std::string name, Quote(tensor.name));
    StrAppend(&json, ",", name, ":{\"dtype\":\"", DTypeName(tensor.dtype), "\",\"shape\":[",
              absl::StrJoin(tensor.shape, ","), "],\"data_offsets\":[", offset, ",",
              offset + tensor.bytes.size(), "]}");
    offset += tensor.bytes.size();
  }
  json += "}";
  const uint64_t least = std::max(json.size() + sizeof(uint64_t), least_bytes) - sizeof(uint64_t);
  const uint64_t length = (least + kAlignment - 1) / kAlignment * kAlignment;
  json.resize(length, ' ');
  std::string header(sizeof(length), '\0');
  std::memcpy(header.data(), &length, sizeof(length));
  return header + json;
}

absl::StatusOr<std::string> TensorFileWriter::Header() const {
  std::set<std::string_view> names;
  Sha256 hash;
  for (const TensorView& tensor : tensors_) {
    VIXEN_RETURN_IF_ERROR(CheckTensor(tensor));
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(
          StrCat("tensor \"", PrintableName(tensor.name), "\" is added twice"));
    }
    hash.Update(tensor.bytes);
  }
  std::map<std::string, std::string> metadata = metadata_;
  metadata["sha256"] = ToHex(hash.Finish());
  return ComposeTensorHeader(metadata, tensors_, 0);
}

absl::StatusOr<std::string> TensorFileWriter::Serialize() const {
  VIXEN_ASSIGN_OR_RETURN(std::string bytes, Header());
  for (const TensorView& tensor : tensors_) {
    bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return bytes;
}

absl::Status TensorFileWriter::Write(const std::string& path) const {
  absl::StatusOr<std::string> header = Header();
  if (!header.ok()) {
    return absl::Status(header.status().code(), StrCat(path, ": ", header.status().message()));
  }
  return WriteFileAtomically(path, [&](const ByteSink& sink) -> absl::Status {
    VIXEN_RETURN_IF_ERROR(sink(std::as_bytes(std::span(*header))));
    for (const TensorView& tensor : tensors_) VIXEN_RETURN_IF_ERROR(sink(tensor.bytes));
    return absl::OkStatus();
  });
}

}  // namespace vixen::base
