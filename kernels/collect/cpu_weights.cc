// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cpu_weights.h"

#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/env/diversity.h"

namespace vixen::kernels {
namespace {

constexpr int kFlatCategory = 1;

// Lane 0 of a block of kRowMultiple rows.
std::vector<float> FirstRow(const AlignedFloats& block, size_t width) {
  std::vector<float> row(width);
  for (size_t i = 0; i < width; ++i) row[i] = block[i * kRowMultiple];
  return row;
}

// The tensor and place of a flat parameter, for messages.
std::string NameOf(const Parameters& parameters, size_t i) {
  for (const LayerLayout& layer : LayersOf(parameters.architecture, parameters.kind)) {
    if (i < layer.bias_offset) {
      return base::StrCat(layer.name, ".weight[", i - layer.weight_offset, "]");
    }
    if (i < layer.bias_offset + layer.outputs) {
      return base::StrCat(layer.name, ".bias[", i - layer.bias_offset, "]");
    }
  }
  return "unknown";
}

}  // namespace

CpuWeights::CpuWeights(const Architecture& architecture, MatrixKernel kernel)
    : architecture_(architecture), kernel_(kernel) {}

absl::Status CpuWeights::Check(const Parameters& parameters) const {
  const std::string_view kind = WeightsKindName(parameters.kind);
  if (parameters.architecture != architecture_) {
    return absl::InvalidArgumentError(base::StrCat(kind, " weights are ",
                                                   parameters.architecture.Describe(),
                                                   ", the executor is ", architecture_.Describe()));
  }
  const size_t expected = ParameterCount(architecture_, parameters.kind);
  if (parameters.values.size() != expected) {
    return absl::InvalidArgumentError(base::StrCat(kind, " weights have ", parameters.values.size(),
                                                   " values, expected ", expected));
  }
  for (size_t i = 0; i < expected; ++i) {
    if (!std::isfinite(parameters.values[i])) {
      return absl::InvalidArgumentError(base::StrCat(kind, " weights: ", NameOf(parameters, i),
                                                     " = ", parameters.values[i],
                                                     " is not finite"));
    }
  }
  return absl::OkStatus();
}

std::vector<float> CpuWeights::ProbeQ(const CpuQNetwork& network) const {
  const size_t width = architecture_.state();
  AlignedFloats state(width * kRowMultiple);
  const std::vector<float> probe = ProbeState(architecture_.state());
  for (size_t j = 0; j < width; ++j) state[j * kRowMultiple] = probe[j];
  AlignedFloats scratch(CpuQNetwork::ScratchWidth(architecture_) * kRowMultiple);
  AlignedFloats q(kActions * kRowMultiple);
  network.Forward(state.data(), kRowMultiple, scratch.data(), q.data());
  return FirstRow(q, kActions);
}

std::vector<float> CpuWeights::ProbeCuriosity(const CpuCuriosityNetwork& network) const {
  const size_t embedding = architecture_.embedding();
  AlignedFloats input((embedding + kCategories) * kRowMultiple);
  const std::vector<float> probe = ProbeState(architecture_.state());
  for (size_t j = 0; j < embedding; ++j) input[j * kRowMultiple] = probe[j];
  input[(embedding + kFlatCategory) * kRowMultiple] = 1.0f;
  AlignedFloats scratch(CpuCuriosityNetwork::ScratchWidth(architecture_) * kRowMultiple);
  AlignedFloats output(embedding * kRowMultiple);
  network.Forward(input.data(), kRowMultiple, scratch.data(), output.data());
  return FirstRow(output, embedding);
}

absl::StatusOr<WeightsProbe> CpuWeights::Stage(const Parameters& parameters) {
  VIXEN_RETURN_IF_ERROR(Check(parameters));
  WeightsProbe probe;
  probe.precision = Precision::kFp32;
  const std::lock_guard lock(mutex_);
  if (parameters.kind == WeightsKind::kCuriosity) {
    curiosity_.staged = std::make_unique<CpuCuriosityNetwork>(parameters, kernel_);
    probe.values = ProbeCuriosity(*curiosity_.staged);
    probe.sha256 = ParametersSha256(curiosity_.staged->ReadBack());
  } else {
    Buffers<CpuQNetwork>& buffers = parameters.kind == WeightsKind::kOnline ? online_ : target_;
    buffers.staged = std::make_unique<CpuQNetwork>(parameters, kernel_);
    probe.values = ProbeQ(*buffers.staged);
    probe.sha256 = ParametersSha256(buffers.staged->ReadBack());
  }
  return probe;
}

void CpuWeights::Commit(WeightsKind kind) {
  const std::lock_guard lock(mutex_);
  switch (kind) {
    case WeightsKind::kOnline:
      online_.Swap();
      break;
    case WeightsKind::kTarget:
      target_.Swap();
      break;
    case WeightsKind::kCuriosity:
      curiosity_.Swap();
      break;
  }
}

}  // namespace vixen::kernels
