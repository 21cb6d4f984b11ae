// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/env/settings.h"
#include "market/dataset.h"

namespace vixen::kernels {

// The dataset's rows as an executor reads them, from `range` alone. Borrows the dataset.
inline MarketView MarketViewOf(const market::Dataset& dataset, market::BarRange range) {
  return {.features = dataset.features().data(),
          .targets = dataset.targets().data(),
          .last = dataset.last().data(),
          .bars = static_cast<uint32_t>(dataset.bars()),
          .feature_count = dataset.feature_count(),
          .begin = static_cast<uint32_t>(range.begin),
          .end = static_cast<uint32_t>(range.end)};
}

}  // namespace vixen::kernels
