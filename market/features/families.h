// SPDX-License-Identifier: Apache-2.0
// The 51 features by family. Each function fills its columns for the rows of one block.
#pragma once

#include <span>

#include "market/features.h"
#include "market/features/series.h"

namespace vixen::market {

// The rows of one block in the output: bars k ≥ first_bar, row-major [rows, 51].
class FeatureSink {
 public:
  FeatureSink(std::span<float> rows, size_t first_bar) : rows_(rows), first_bar_(first_bar) {}

  // column[k] = formula(k), rounded once to float32; −0 becomes +0.
  template <typename Formula>
  void Fill(int column, Formula formula) {
    float* out = rows_.data() + column;
    const size_t rows = rows_.size() / kColumns;
    for (size_t row = 0; row < rows; ++row) {
      out[row * kColumns] = static_cast<float>(formula(first_bar_ + row)) + 0.0f;
    }
  }

 private:
  static constexpr size_t kColumns = kFeatureCount;
  std::span<float> rows_;
  size_t first_bar_;
};

void FillPriceFeatures(const BarBlock& bars, FeatureSink& sink);                // 0 … 11, 49, 50
void FillTrendFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink);  // 12 … 23, 47, 48
void FillMomentumFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink);    // 24 … 31
void FillVolatilityFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink);  // 32 … 40
void FillVolumeFeatures(const BarBlock& bars, FeatureSink& sink);                    // 41 … 46

// Quantities that more than one family uses.
Series TypicalPrice(const BarBlock& bars);        // (H + L + C)/3
Series TrueRange(const BarBlock& bars);           // max(H, C₁) − min(L, C₁), from 1
Series LogReturn(const BarBlock& bars);           // ln(C/C₁), from 1
Series CloseLocationValue(const BarBlock& bars);  // (2C − H − L)/(H − L), 0 if H − L ≈0

}  // namespace vixen::market
