// SPDX-License-Identifier: Apache-2.0
// Weights of an executor: checked and staged, answered by the probe, made live.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/cuda_executor.h"
#include "kernels/collect/cuda_probe.h"
#include "kernels/collect/cuda_tile_image.h"

namespace vixen::kernels {
namespace {

absl::Status CheckParameters(const Parameters& parameters, const Architecture& architecture) {
  const std::string_view kind = WeightsKindName(parameters.kind);
  if (parameters.architecture != architecture) {
    return absl::InvalidArgumentError(base::StrCat(kind, " weights are ",
                                                   parameters.architecture.Describe(),
                                                   ", the executor is ", architecture.Describe()));
  }
  const size_t expected = ParameterCount(architecture, parameters.kind);
  if (parameters.values.size() != expected) {
    return absl::InvalidArgumentError(base::StrCat(kind, " weights have ", parameters.values.size(),
                                                   " values, expected ", expected));
  }
  const auto bad = std::find_if(parameters.values.begin(), parameters.values.end(),
                                [](float value) { return !std::isfinite(value); });
  if (bad == parameters.values.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(kind, " weights: value ", bad - parameters.values.begin(),
                   " of the flat parameters = ", *bad, " is not finite"));
}

absl::Status CheckFp16Range(const Parameters& parameters) {
  for (size_t i = 0; i < parameters.values.size(); ++i) {
    if (std::fabs(parameters.values[i]) <= kLargestHalf) continue;
    return absl::InvalidArgumentError(base::StrCat(
        WeightsKindName(parameters.kind), " weights: value ", i, " of the flat parameters = ",
        parameters.values[i], " is beyond fp16's ±65,504; choose precision tf32, fp32 or auto"));
  }
  return absl::OkStatus();
}

ProbeNetwork ProbeOf(const Architecture& architecture, WeightsKind kind) {
  ProbeNetwork network;
  network.curiosity = kind == WeightsKind::kCuriosity ? 1 : 0;
  const std::vector<LayerLayout> layers = LayersOf(architecture, kind);
  for (size_t i = 0; i < layers.size(); ++i) {
    network.layers[i] = {layers[i].inputs, layers[i].outputs, layers[i].weight_offset,
                         layers[i].bias_offset};
  }
  return network;
}

}  // namespace

LivePolicy CudaExecutor::live() const {
  return {of(WeightsKind::kOnline).address(), of(WeightsKind::kTarget).address(),
          of(WeightsKind::kCuriosity).address()};
}

TilePolicy CudaExecutor::TilesOf(Precision precision) const {
  TilePolicy tiles;
  tiles.operand = OperandOf(precision);
  tiles.state_scale = StateScale(tiles.operand, dataset_->states());
  const auto network = [&](WeightsKind kind) {
    const Weights& weights = of(kind);
    const std::byte* image =
        weights.live.data() + weights.layout.tile[static_cast<size_t>(tiles.operand)];
    return TileNetwork{image, image + TileImageTiles(kind, tiles.operand, weights.layout.form)};
  };
  tiles.online = network(WeightsKind::kOnline);
  tiles.target = network(WeightsKind::kTarget);
  if (needs_curiosity()) tiles.curiosity = network(WeightsKind::kCuriosity);
  return tiles;
}

absl::StatusOr<WeightsProbe> CudaExecutor::Stage(const Parameters& parameters) {
  VIXEN_RETURN_IF_ERROR(CheckParameters(parameters, options_.architecture));
  if (options_.precision == Precision::kFp16) VIXEN_RETURN_IF_ERROR(CheckFp16Range(parameters));
  const std::lock_guard lock(stage_mutex_);
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  Weights& weights = of(parameters.kind);
  cudaStream_t stream = stage_stream_.get();
  const size_t bytes = weights.layout.bytes;
  const NetworkRange range = RangeOfNetwork(parameters, dataset_->states());
  const std::vector<std::byte> image =
      BuildWeightsImage(weights.layout, parameters, dataset_->states());
  std::memcpy(stage_out_.data(), image.data(), bytes);
  weights.is_staged = false;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(stream, weights.copied.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(weights.staged.data(), stage_out_.data(), bytes,
                                             cudaMemcpyHostToDevice, stream));
  const std::vector<float> state = ProbeState(options_.architecture.state());
  const size_t answers =
      parameters.kind == WeightsKind::kCuriosity ? options_.architecture.embedding() : kActions;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(
      probe_.data(), state.data(), state.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
  const float* staged =
      reinterpret_cast<const float*>(weights.staged.data() + weights.layout.parameters);
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueProbe(staged, ProbeOf(options_.architecture, parameters.kind),
                                          probe_.data(), probe_.data() + 256, stream));
  WeightsProbe probe;
  probe.precision = Precision::kFp32;
  probe.values.resize(answers);
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(probe.values.data(), probe_.data() + 256,
                                             answers * sizeof(float), cudaMemcpyDeviceToHost,
                                             stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(stage_back_.data(), weights.staged.data(), bytes,
                                             cudaMemcpyDeviceToHost, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  if (std::memcmp(stage_back_.data(), image.data(), bytes) != 0) {
    return absl::InternalError(base::StrCat(WeightsKindName(parameters.kind),
                                            " weights read back from the device differ"));
  }
  Parameters back = parameters;
  std::memcpy(back.values.data(), stage_back_.data() + weights.layout.parameters,
              back.values.size() * sizeof(float));
  probe.sha256 = ParametersSha256(back);
  weights.staged_fit = FitOf(range, dataset_->states());
  weights.is_staged = true;
  return probe;
}

absl::Status CudaExecutor::Commit(WeightsKind kind, cudaStream_t stream) {
  const std::lock_guard lock(stage_mutex_);
  Weights& weights = of(kind);
  if (!weights.is_staged) return absl::OkStatus();
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(weights.live.data(), weights.staged.data(),
                                             weights.layout.bytes, cudaMemcpyDeviceToDevice,
                                             stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(weights.copied.get(), stream));
  weights.live_fit = weights.staged_fit;
  weights.is_live = true;
  weights.is_staged = false;
  return absl::OkStatus();
}

absl::Status CudaExecutor::CanLaunch() const {
  for (const WeightsKind kind :
       {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    if (kind == WeightsKind::kCuriosity && !needs_curiosity()) continue;
    if (of(kind).is_live) continue;
    return absl::FailedPreconditionError(base::StrCat(
        "no ", WeightsKindName(kind), " weights yet: push all that the settings need"));
  }
  return absl::OkStatus();
}

}  // namespace vixen::kernels
