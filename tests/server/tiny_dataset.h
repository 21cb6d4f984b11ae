// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "market/dataset.h"

namespace vixen::server {

// 60 bars of 4 features in two segments.
inline absl::StatusOr<std::shared_ptr<const market::Dataset>> TinyDataset(uint32_t bars = 60) {
  constexpr uint32_t kFeatures = 4;
  market::Dataset::Parts parts;
  // Not "f" + std::to_string(k): GCC 12 sees an overlap in it that there is not (-Wrestrict).
  for (uint32_t k = 0; k < kFeatures; ++k)
    parts.feature_names.emplace_back("f") += std::to_string(k);
  const auto close = [](uint32_t bar) { return 100.0f + static_cast<float>((bar * 7) % 13); };
  for (uint32_t bar = 0; bar < bars; ++bar) {
    for (uint32_t k = 0; k < kFeatures; ++k) {
      parts.features.push_back(0.01f * static_cast<float>((bar * 31 + k * 17) % 97) - 0.5f);
    }
    const float next = close(bar + 1);
    for (const float price : {close(bar), next, next + 0.5f, next - 0.5f}) {
      parts.targets.push_back(price);
    }
    parts.last.push_back(bar + 1 == bars || bar + 1 == bars / 2 ? 1 : 0);
    parts.timestamp.push_back(int64_t{60'000'000'000} * bar);
  }
  parts.scaler.mean.assign(kFeatures, 0.0);
  parts.scaler.scale.assign(kFeatures, 1.0);
  parts.source = "tests";
  return market::Dataset::Create(std::move(parts));
}

}  // namespace vixen::server
