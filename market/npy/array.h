// SPDX-License-Identifier: Apache-2.0
// NumPy's array file (NPY, versions 1.0 to 3.0): a header in the form of a Python dictionary, then
// the raw values. Nothing in it is executed; arrays of objects (pickles) are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vixen::market::npy {

enum class Kind : char {
  kBool = 'b',
  kSigned = 'i',
  kUnsigned = 'u',
  kFloat = 'f',
  kTime = 'M',     // datetime64
  kUnicode = 'U',  // 4 bytes a character
  kBytes = 'S',
};

struct Type {
  Kind kind = Kind::kFloat;
  uint32_t bytes = 0;
  int64_t unit_ns = 0;  // of kTime: nanoseconds a count

  bool is_number() const {
    return kind == Kind::kSigned || kind == Kind::kUnsigned || kind == Kind::kFloat;
  }
  bool is_text() const { return kind == Kind::kUnicode || kind == Kind::kBytes; }
  // "float64", "datetime64", …
  std::string Name() const;
};

// A field of a structured array; plain arrays have one without a name.
struct Field {
  std::string name;
  Type type;
  uint64_t offset = 0;  // in an item
};

// One array in memory. Immutable after parsing.
struct Array {
  std::string name;  // in an archive; else empty
  std::vector<Field> fields;
  uint64_t item_bytes = 0;
  std::vector<uint64_t> shape;
  bool fortran_order = false;
  std::string data;

  bool is_structured() const { return !fields[0].name.empty(); }
  // "float64 [100, 6]".
  std::string Describe() const;

  // Value of a field at item `i` of a 1-D array or [i, column] of a 2-D one. REQUIRES: inside.
  const char* At(const Field& field, uint64_t i, uint64_t column = 0) const;
};

// Parses a whole file's bytes. `source` names it in errors. INVALID_ARGUMENT for another byte
// order, objects, unknown types or a malformed header; DATA_LOSS when values are missing or too
// many.
absl::StatusOr<Array> ParseArray(std::string_view bytes, const std::string& source);

// A number field as float64. REQUIRES: type.is_number().
double NumberAt(const Type& type, const char* value);
// An integer or time as it is stored; nothing for a uint64 beyond int64. REQUIRES: kSigned,
// kUnsigned or kTime.
std::optional<int64_t> IntegerAt(const Type& type, const char* value);
// A text without its padding, as UTF-8. REQUIRES: type.is_text().
std::string TextAt(const Type& type, const char* value);

}  // namespace vixen::market::npy
