// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file, checked down to the last byte of the tensor region. Used
// by TensorFile only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/tensor_file.h"

namespace vixen::base {

struct TensorHeader {
  struct Entry {
    std::string name;
    DType dtype = DType::kU8;
    std::vector<int64_t> shape;
    uint64_t begin = 0;  // in the tensor region
    uint64_t end = 0;
  };
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;  // ascending by place; together they cover the region exactly
};

// `source` begins every message. INVALID_ARGUMENT for anything but a header whose tensors fill
// `region_bytes` bytes without overlap, hole or rest. Memory stays proportional to `json`.
absl::StatusOr<TensorHeader> ParseTensorHeader(std::string_view json, uint64_t region_bytes,
                                               const std::string& source);

// A name from outside as one printable, short word for messages.
std::string PrintableName(std::string_view name);

// Elements of a shape; false when the product does not fit or a length is negative.
bool ShapeElements(const std::vector<int64_t>& shape, int64_t& elements);

// "F32 [128, 54]".
std::string DescribeTensor(DType dtype, const std::vector<int64_t>& shape);

// The header of a file: its length and the JSON text, filled with blanks to a multiple of 8 and to
// `least_bytes` in all. The tensors stand in the order given. INVALID_ARGUMENT for what is no
// UTF-8.
absl::StatusOr<std::string> ComposeTensorHeader(const std::map<std::string, std::string>& metadata,
                                                std::span<const TensorView> tensors,
                                                size_t least_bytes);

}  // namespace vixen::base
