// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_range.h"

#include <algorithm>
#include <cmath>

namespace vixen::kernels {
namespace {

constexpr double kLargestRatio = 64.0;     // equity / initial capital, unrealised
constexpr double kLargestExposure = 10.0;  // rule 2's clamp
constexpr double kLargestSplit = 1 << 20;
constexpr double kLargestScaled = 1 << 29;  // becomes 2^15, and 1 becomes 2^-14

// One layer for inputs of norm ≤ `norm`: bound of its sums, and of the norm of its outputs.
struct LayerRange {
  double largest = 0;
  double norm = 0;
  double weight = 0;
  double bias = 0;
};
LayerRange RangeOfLayer(const Parameters& parameters, const LayerLayout& layer, double norm) {
  LayerRange range;
  double squares = 0;
  for (uint32_t output = 0; output < layer.outputs; ++output) {
    const float* row = &parameters.values[layer.weight_offset + size_t{output} * layer.inputs];
    double sum = 0;
    for (uint32_t i = 0; i < layer.inputs; ++i) {
      sum += double{row[i]} * row[i];
      range.weight = std::max(range.weight, std::fabs(double{row[i]}));
    }
    const double bias = std::fabs(double{parameters.values[layer.bias_offset + output]});
    range.bias = std::max(range.bias, bias);
    const double most = std::sqrt(sum) * norm + bias;
    range.largest = std::max(range.largest, most);
    squares += most * most;
  }
  range.norm = std::sqrt(squares);
  return range;
}

}  // namespace

StateRange RangeOfStates(const MarketView& market) {
  double largest = kLargestRatio;
  double norm = 0;
  for (uint32_t bar = market.begin; bar < market.end; ++bar) {
    const float* row = market.features + size_t{bar} * market.feature_count;
    double squares = 0;
    for (uint32_t i = 0; i < market.feature_count; ++i) {
      squares += double{row[i]} * row[i];
      largest = std::max(largest, std::fabs(double{row[i]}));
    }
    norm = std::max(norm, squares);
  }
  norm += 2 * kLargestRatio * kLargestRatio + kLargestExposure * kLargestExposure;
  return {static_cast<float>(largest), static_cast<float>(std::sqrt(norm))};
}

double NetworkRange::largest_sum() const { return std::max({sums[0], sums[1], sums[2]}); }

NetworkRange RangeOfNetwork(const Parameters& parameters, const StateRange& states) {
  NetworkRange range;
  const std::vector<LayerLayout> layers = LayersOf(parameters.architecture, parameters.kind);
  for (const float value : parameters.values) {
    range.largest_parameter = std::max(range.largest_parameter, std::fabs(double{value}));
  }
  // The curiosity model sees the category as well: one more input of size 1.
  const bool is_curiosity = parameters.kind == WeightsKind::kCuriosity;
  const double norm = is_curiosity ? std::hypot(states.norm, 1.0) : states.norm;
  const LayerRange first = RangeOfLayer(parameters, layers[0], norm);
  const LayerRange second = RangeOfLayer(parameters, layers[1], first.norm);
  range.sums[0] = first.largest;
  range.sums[1] = second.largest;
  range.weights[0] = std::max(first.weight, first.bias);
  range.weights[1] = second.weight;
  if (is_curiosity) return range;
  // value_layers.{0,1}, advantage_layers.{0,1}
  const LayerRange value = RangeOfLayer(parameters, layers[2], second.norm);
  const LayerRange advantage = RangeOfLayer(parameters, layers[4], second.norm);
  range.sums[2] = std::max(value.largest, advantage.largest);
  range.weights[2] = std::max(value.weight, advantage.weight);
  range.weights[3] = RangeOfLayer(parameters, layers[5], advantage.norm).weight;
  return range;
}

bool FitsFp16(const NetworkRange& range, const StateRange& states) {
  return range.largest_parameter <= kLargestHalf && range.largest_sum() <= kLargestHalf &&
         states.largest <= kLargestHalf;
}

bool FitsSplit(const NetworkRange& range, const StateRange& states) {
  return range.largest_sum() <= kLargestSplit && states.largest <= kLargestSplit &&
         range.largest_parameter <= 1e15;
}

bool FitsScaledFp16(const NetworkRange& range, const StateRange& states) {
  return range.largest_sum() <= kLargestScaled && states.largest <= kLargestScaled &&
         range.largest_parameter <= 1e15;
}

bool FitsTf32(const NetworkRange& range, const StateRange& states) {
  return range.largest_sum() <= 1e30 && states.largest <= 1e30 && range.largest_parameter <= 1e30;
}

int SplitExponent(double largest) {
  // Weights smaller than 2^-86 are as good as zero.
  return largest > 0 ? std::min(14 - std::ilogb(largest), 100) : 0;
}

}  // namespace vixen::kernels
