// SPDX-License-Identifier: Apache-2.0
// Standardising feature columns: docs/environment.md, "Features".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "market/dataset.h"

namespace vixen::market {

inline constexpr double kScalerClip = 10;

struct FittedScaler {
  Scaler scaler;
  // 1 for a column whose deviation over the training rows is ≤ 1e-12 × its largest magnitude there:
  // its scale is 1 and all its values become 0.
  std::vector<uint8_t> constant;  // [F]
};

// Mean and population deviation of each column over the training rows, float64 in two passes: all
// rows to AddToMean, then the same to AddToDeviation, each time in pieces of any size.
class ScalerFit {
 public:
  explicit ScalerFit(size_t width);

  // Row-major [rows, width].
  void AddToMean(std::span<const float> rows);
  void AddToDeviation(std::span<const float> rows);
  FittedScaler Finish() const;

 private:
  size_t width_;
  double rows_ = 0;
  bool mean_known_ = false;
  std::vector<double> mean_, squares_, largest_;
};

// ScalerFit over the rows `training` of `features` [T, width]. No other row is read. The range must
// not be empty.
FittedScaler FitScaler(std::span<const float> features, size_t width, BarRange training);

// In place: y = clamp((x − mean)/scale, ±10), rounded once; 0 in constant columns. Returns the
// number of clipped values of each column.
std::vector<uint64_t> ApplyScaler(const FittedScaler& fitted, std::span<float> features);

}  // namespace vixen::market
