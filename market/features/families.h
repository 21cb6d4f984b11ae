// SPDX-License-Identifier: Apache-2.0
// The 51 features by family. Each function fills its columns for the rows of one block.
#pragma once

#include <algorithm>
#include <span>

#include "market/features.h"
#include "market/features/logarithm.h"
#include "market/features/series.h"
#include "market/features/windows.h"

namespace vixen::market {

// The features of one block by column: rows stand for bars k ≥ first_bar.
class FeatureSink {
 public:
  // `columns`: [51, rows].
  FeatureSink(std::span<float> columns, size_t rows, size_t first_bar)
      : columns_(columns), rows_(rows), first_bar_(first_bar) {}

  // column[k] = formula(k), rounded once to float32; −0 becomes +0.
  template <typename Formula>
  void Fill(size_t column, Formula formula) {
    float* __restrict out = columns_.data() + column * rows_;
    for (size_t row = 0; row < rows_; ++row) {
      out[row] = static_cast<float>(formula(first_bar_ + row)) + 0.0f;
    }
  }

  // The same of ln(formula(k)).
  template <typename Formula>
  void FillLog(size_t column, Formula formula) {
    float* __restrict out = columns_.data() + column * rows_;
    double values[kPiece];
    for (size_t begin = 0; begin < rows_; begin += kPiece) {
      const size_t count = std::min(kPiece, rows_ - begin);
      for (size_t i = 0; i < count; ++i) values[i] = formula(first_bar_ + begin + i);
      LogInPlace(values, count);
      for (size_t i = 0; i < count; ++i) out[begin + i] = static_cast<float>(values[i]) + 0.0f;
    }
  }

 private:
  static constexpr size_t kPiece = 256;
  std::span<float> columns_;
  size_t rows_, first_bar_;
};

// Independent of each other; each carries its own recursions.
void FillPriceFeatures(const BarBlock& bars, FeatureSink& sink);  // 1 … 5, 8 … 11, 49, 50
void FillTrendFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink);  // 12 … 23, 47, 48
void FillMomentumFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink);  // 24 … 29, 31
void FillReturnFeatures(const BarBlock& bars, Carry& carry,
                        FeatureSink& sink);                        // 0, 6, 7, 32 … 40, 46
void FillVolumeFeatures(const BarBlock& bars, FeatureSink& sink);  // 30, 41 … 45

// Quantities that more than one family uses.
Series TypicalPrice(const BarBlock& bars);        // (H + L + C)/3
Series TrueRange(const BarBlock& bars);           // max(H, C₁) − min(L, C₁), from 1
Series CloseLocationValue(const BarBlock& bars);  // (2C − H − L)/(H − L), 0 if H − L ≈0
// ln(formula(k)) for k ≥ from.
template <typename Formula>
Series LogSeries(size_t from, size_t size, Formula formula) {
  Series series = Series::Of(from, size, formula);
  LogInPlace(series.data() + series.from(), size - series.from());
  return series;
}

}  // namespace vixen::market
