// SPDX-License-Identifier: Apache-2.0
// Debian's Abseil has a string_view type of its own, which std::string_view does not convert to.
// These accept both; everything else goes to Abseil as it is.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace vixen::base {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

namespace internal {
template <typename T>
decltype(auto) Piece(const T& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return ToAbsl(value);
  } else {
    return (value);
  }
}
}  // namespace internal

// absl::StrCat and absl::StrAppend, for std::string_view too.
template <typename... T>
std::string StrCat(const T&... pieces) {
  return absl::StrCat(internal::Piece(pieces)...);
}
template <typename... T>
void StrAppend(std::string* destination, const T&... pieces) {
  absl::StrAppend(destination, internal::Piece(pieces)...);
}

}  // namespace vixen::base
