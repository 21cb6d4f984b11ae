// SPDX-License-Identifier: Apache-2.0
#include "market/scaler.h"

#include <algorithm>
#include <cmath>

namespace vixen::market {

ScalerFit::ScalerFit(size_t width)
    : width_(width), mean_(width, 0.0), squares_(width, 0.0), largest_(width, 0.0) {}

void ScalerFit::AddToMean(std::span<const float> rows) {
  double* __restrict sum = mean_.data();
  double* __restrict largest = largest_.data();
  for (size_t at = 0; at < rows.size(); at += width_) {
    const float* __restrict row = &rows[at];
    for (size_t column = 0; column < width_; ++column) {
      const double x = row[column], size = std::fabs(x);
      sum[column] += x;
      largest[column] = size > largest[column] ? size : largest[column];
    }
  }
  const size_t count = width_ == 0 ? 0 : rows.size() / width_;
  rows_ += static_cast<double>(count);
}

void ScalerFit::AddToDeviation(std::span<const float> rows) {
  if (!mean_known_) {
    for (double& value : mean_) value /= rows_;
    mean_known_ = true;
  }
  const double* __restrict mean = mean_.data();
  double* __restrict squares = squares_.data();
  for (size_t at = 0; at < rows.size(); at += width_) {
    const float* __restrict row = &rows[at];
    for (size_t column = 0; column < width_; ++column) {
      const double deviation = row[column] - mean[column];
      squares[column] += deviation * deviation;
    }
  }
}

FittedScaler ScalerFit::Finish() const {
  FittedScaler fitted;
  fitted.scaler.mean = mean_;
  for (size_t column = 0; column < width_; ++column) {
    const double deviation = std::sqrt(squares_[column] / rows_);
    const bool constant = deviation <= 1e-12 * largest_[column];
    fitted.constant.push_back(constant ? 1 : 0);
    fitted.scaler.scale.push_back(constant ? 1.0 : deviation);
  }
  return fitted;
}

FittedScaler FitScaler(std::span<const float> features, size_t width, BarRange training) {
  const std::span<const float> rows =
      features.subspan(training.begin * width, (training.end - training.begin) * width);
  ScalerFit fit(width);
  fit.AddToMean(rows);
  fit.AddToDeviation(rows);
  return fit.Finish();
}

std::vector<uint64_t> ApplyScaler(const FittedScaler& fitted, std::span<float> features) {
  const size_t width = fitted.scaler.mean.size();
  std::vector<uint64_t> clipped(width, 0), live(width);
  for (size_t column = 0; column < width; ++column) live[column] = fitted.constant[column] == 0;
  const double* __restrict mean = fitted.scaler.mean.data();
  const double* __restrict scale = fitted.scaler.scale.data();
  const uint64_t* __restrict counts = live.data();
  uint64_t* __restrict clips = clipped.data();
  for (size_t at = 0; at < features.size(); at += width) {
    float* __restrict row = &features[at];
    for (size_t column = 0; column < width; ++column) {
      const double y = (row[column] - mean[column]) / scale[column];
      const double below = y > kScalerClip ? kScalerClip : y;
      const double bounded = below < -kScalerClip ? -kScalerClip : below;
      clips[column] += bounded != y ? counts[column] : uint64_t{0};
      row[column] = static_cast<float>(counts[column] != 0 ? bounded : 0.0);
    }
  }
  return clipped;
}

}  // namespace vixen::market
