// SPDX-License-Identifier: Apache-2.0
#include "base/tensor_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::base {
namespace {

constexpr size_t kMostAxes = 16;

struct DTypeEntry {
  DType dtype;
  std::string_view name;
  size_t bytes;
};

constexpr DTypeEntry kDTypes[] = {
    {DType::kBool, "BOOL", 1}, {DType::kU8, "U8", 1},   {DType::kI8, "I8", 1},
    {DType::kU16, "U16", 2},   {DType::kI16, "I16", 2}, {DType::kF16, "F16", 2},
    {DType::kBF16, "BF16", 2}, {DType::kU32, "U32", 4}, {DType::kI32, "I32", 4},
    {DType::kF32, "F32", 4},   {DType::kU64, "U64", 8}, {DType::kI64, "I64", 8},
    {DType::kF64, "F64", 8},
};

// Receives the header's JSON piece by piece: duplicate keys are seen, nothing is recursive, and the
// first surprise ends the parse with a message.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  TensorHeader header;
  std::string fault;

  bool start_object(size_t) override {
    switch (place_) {
      case Place::kBefore:
        place_ = Place::kTop;
        return true;
      case Place::kTop:
        if (key_ == "__metadata__") {
          place_ = Place::kMetadata;
        } else {
          place_ = Place::kTensor;
          header.entries.push_back({.name = key_});
          has_dtype_ = has_shape_ = false;
          offsets_.reset();
        }
        return true;
      default:
        return Surprise("an object");
    }
  }

  bool end_object() override {
    if (place_ == Place::kTop) {
      place_ = Place::kAfter;
      return true;
    }
    if (place_ == Place::kTensor) {
      if (!has_dtype_) return Fail(Where(), " has no dtype");
      if (!has_shape_) return Fail(Where(), " has no shape");
      if (!offsets_) return Fail(Where(), " has no data_offsets");
      if (offsets_->size() != 2) {
        return Fail(Where(), " has ", offsets_->size(), " data_offsets, expected 2");
      }
      header.entries.back().begin = (*offsets_)[0];
      header.entries.back().end = (*offsets_)[1];
    }
    place_ = Place::kTop;
    return true;
  }

  bool key(string_t& name) override {
    if (place_ == Place::kTop && !names_.insert(name).second) {
      return Fail("\"", PrintableName(name), "\" is there twice");
    }
    if (place_ == Place::kMetadata && header.metadata.count(name) > 0) {
      return Fail("metadata \"", PrintableName(name), "\" is there twice");
    }
    if (place_ == Place::kTensor) {
      const bool repeated = (name == "dtype" && has_dtype_) || (name == "shape" && has_shape_) ||
                            (name == "data_offsets" && offsets_);
      if (repeated) return Fail(Where(), ": ", name, " is there twice");
      if (name != "dtype" && name != "shape" && name != "data_offsets") {
        return Fail(Where(), ": unknown key \"", PrintableName(name), "\"");
      }
    }
    key_ = std::move(name);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      header.metadata.emplace(key_, std::move(value));
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") return Surprise("a string");
    const auto* found = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                     [&](const DTypeEntry& entry) { return entry.name == value; });
    if (found == std::end(kDTypes)) {
      return Fail(Where(), ": unknown dtype \"", PrintableName(value), "\"");
    }
    header.entries.back().dtype = found->dtype;
    has_dtype_ = true;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") return Surprise("an array");
    if (key_ == "shape") {
      has_shape_ = true;
      place_ = Place::kShape;
    } else {
      offsets_.emplace();
      place_ = Place::kOffsets;
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kOffsets) {
      if (offsets_->size() == 2) return Fail(Where(), " has more than 2 data_offsets");
      offsets_->push_back(value);
      return true;
    }
    if (place_ != Place::kShape) return Surprise("a number");
    std::vector<int64_t>& shape = header.entries.back().shape;
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Fail(Where(), ": axis length ", value, " is too large");
    }
    if (shape.size() == kMostAxes) return Fail(Where(), " has more than ", kMostAxes, " axes");
    shape.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool number_integer(number_integer_t value) override {
    return Surprise(StrCat("the number ", value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return Surprise(StrCat("the number ", PrintableName(text)));
  }
  bool null() override { return Surprise("null"); }
  bool boolean(bool) override { return Surprise("a truth value"); }
  bool binary(binary_t&) override { return Surprise("binary data"); }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // Keep the library's reason, without its own prefix "[json.exception…] ".
    std::string_view reason = error.what();
    if (const size_t bracket = reason.find("] "); bracket != reason.npos) {
      reason.remove_prefix(bracket + 2);
    }
    return Fail("not JSON at header byte ", position, ": ",
                absl::Utf8SafeCHexEscape(ToAbsl(reason.substr(0, 200))));
  }

 private:
  enum class Place { kBefore, kTop, kMetadata, kTensor, kShape, kOffsets, kAfter };

  template <typename... Parts>
  bool Fail(const Parts&... parts) {
    fault = StrCat(parts...);
    return false;
  }

  std::string Where() const {
    return StrCat("tensor \"", PrintableName(header.entries.back().name), "\"");
  }

  bool Surprise(std::string_view found) {
    switch (place_) {
      case Place::kBefore:
      case Place::kAfter:
        return Fail("expected an object, found ", found);
      case Place::kTop:
        return Fail("\"", PrintableName(key_), "\": expected an object, found ", found);
      case Place::kMetadata:
        return Fail("metadata \"", PrintableName(key_), "\": expected a string, found ", found);
      case Place::kTensor:
        return Fail(Where(), ": ", key_, ": expected ", key_ == "dtype" ? "a string" : "an array",
                    ", found ", found);
      case Place::kShape:
      case Place::kOffsets:
        return Fail(Where(), ": ", key_, ": expected a number ≥ 0, found ", found);
    }
    return false;
  }

  Place place_ = Place::kBefore;
  std::string key_;
  std::unordered_set<std::string> names_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  std::optional<std::vector<uint64_t>> offsets_;
};

absl::Status CheckRegion(const std::vector<TensorHeader::Entry>& entries, uint64_t region_bytes,
                         const std::string& source) {
  uint64_t covered = 0;
  for (const TensorHeader::Entry& entry : entries) {
    const std::string where = StrCat(source, ": tensor \"", PrintableName(entry.name), "\" ",
                                     DescribeTensor(entry.dtype, entry.shape));
    const std::string place = StrCat("[", entry.begin, ", ", entry.end, ")");
    if (entry.begin > entry.end || entry.end > region_bytes) {
      return absl::InvalidArgumentError(StrCat(where, ": data_offsets ", place, " outside the ",
                                               region_bytes, " bytes of tensor data"));
    }
    int64_t elements = 0;
    int64_t bytes = 0;
    if (!ShapeElements(entry.shape, elements) ||
        __builtin_mul_overflow(elements, static_cast<int64_t>(DTypeBytes(entry.dtype)), &bytes)) {
      return absl::InvalidArgumentError(StrCat(where, ": the shape's size overflows"));
    }
    if (static_cast<uint64_t>(bytes) != entry.end - entry.begin) {
      return absl::InvalidArgumentError(StrCat(where, ": needs ", bytes, " bytes, data_offsets ",
                                               place, " hold ", entry.end - entry.begin));
    }
    if (entry.begin != covered) {
      return absl::InvalidArgumentError(StrCat(where, ": data_offsets ", place,
                                               entry.begin < covered
                                                   ? " overlap the tensor before, which ends at "
                                                   : " leave a hole after ",
                                               covered));
    }
    covered = entry.end;
  }
  if (covered != region_bytes) {
    return absl::InvalidArgumentError(StrCat(source, ": ", region_bytes - covered,
                                             " bytes after the last tensor's end at ", covered));
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view DTypeName(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].name; }

size_t DTypeBytes(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].bytes; }

std::string PrintableName(std::string_view name) {
  constexpr size_t kMost = 80;
  std::string text = absl::Utf8SafeCHexEscape(ToAbsl(name.substr(0, kMost)));
  if (name.size() > kMost) text += "…";
  return text;
}

bool ShapeElements(const std::vector<int64_t>& shape, int64_t& elements) {
  elements = 1;
  for (int64_t length : shape) {
    if (length < 0 || __builtin_mul_overflow(elements, length, &elements)) return false;
  }
  return true;
}

std::string DescribeTensor(DType dtype, const std::vector<int64_t>& shape) {
  return StrCat(DTypeName(dtype), " [", absl::StrJoin(shape, ", "), "]");
}

absl::StatusOr<TensorHeader> ParseTensorHeader(std::string_view json, uint64_t region_bytes,
                                               const std::string& source) {
  if (json.empty() || json.front() != '{') {
    return absl::InvalidArgumentError(StrCat(source, ": the header does not begin with {"));
  }
  // The parser takes a zero byte for the end of its input, and would not look at what follows.
  if (const size_t zero = json.find('\0'); zero != json.npos) {
    return absl::InvalidArgumentError(
        StrCat(source, ": header: not JSON at header byte ", zero, ": a zero byte"));
  }
  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) {
    return absl::InvalidArgumentError(StrCat(source, ": header: ", handler.fault));
  }
  TensorHeader header = std::move(handler.header);
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  VIXEN_RETURN_IF_ERROR(CheckRegion(header.entries, region_bytes, source));
  return header;
}

}  // namespace vixen::base
