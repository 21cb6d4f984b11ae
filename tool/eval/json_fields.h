// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"

namespace vixen::tool {

using Json = nlohmann::ordered_json;

// Writes into or reads from a JSON object with one description of the fields for both ways. Reading
// remembers the first fault.
class Fields {
 public:
  static Fields Writing(Json& object) { return Fields(object, false); }
  static Fields Reading(const Json& object) { return Fields(const_cast<Json&>(object), true); }

  template <typename T>
  void operator()(const char* key, T& value) {
    if (!reading_) {
      object_[key] = value;
      return;
    }
    const auto found = object_.find(key);
    if (found == object_.end()) return Fault(key, "is missing");
    if constexpr (std::is_same_v<T, double>) {
      if (!found->is_number()) return Fault(key, "is not a number");
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!found->is_boolean()) return Fault(key, "is not true or false");
    } else if constexpr (std::is_integral_v<T>) {
      if (!found->is_number_integer()) return Fault(key, "is not an integer");
    }
    value = found->template get<T>();
  }

  template <typename T>
  void operator()(const char* key, std::optional<T>& value) {
    if (!reading_) {
      object_[key] = value ? Json(*value) : Json(nullptr);
      return;
    }
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return;
    value = found->template get<T>();
  }

  template <typename T, size_t kSize>
  void Array(const char* key, T (&values)[kSize]) {
    std::array<T, kSize> copy;
    std::copy(std::begin(values), std::end(values), copy.begin());
    (*this)(key, copy);
    std::copy(copy.begin(), copy.end(), std::begin(values));
  }

  // Numbers among which NaN stands for none: null in the file.
  void WithGaps(const char* key, std::vector<double>& values) {
    std::vector<Json> entries;
    if (!reading_) {
      for (const double value : values) {
        entries.push_back(std::isnan(value) ? Json(nullptr) : Json(value));
      }
    }
    (*this)(key, entries);
    if (!reading_) return;
    values.clear();
    for (const Json& entry : entries) {
      values.push_back(entry.is_null() ? std::nan("") : entry.get<double>());
    }
  }

  void Fault(const char* key, const char* what) {
    if (fault_.empty()) fault_ = absl::StrCat(key, " ", what);
  }
  const std::string& fault() const { return fault_; }

 private:
  Fields(Json& object, bool reading) : object_(object), reading_(reading) {}
  Json& object_;
  bool reading_;
  std::string fault_;
};

}  // namespace vixen::tool
