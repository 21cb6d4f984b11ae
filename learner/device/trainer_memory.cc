// SPDX-License-Identifier: Apache-2.0
#include "learner/device/trainer_memory.h"

#include <utility>

#include "base/status_macros.h"
#include "kernels/cuda/status.h"
#include "learner/device/tile_layout.h"

namespace vixen::learner {

absl::Status TrainerMemory::TakeBytes(void*& pointer, size_t bytes) {
  kernels::DeviceBuffer<std::byte> buffer;
  VIXEN_RETURN_IF_ERROR(buffer.Allocate(bytes));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemset(buffer.data(), 0, bytes));
  // It runs in the legacy stream, which those that use the memory do not wait for.
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(cudaStreamLegacy));
  pointer = buffer.data();
  buffers_.push_back(std::move(buffer));
  return absl::OkStatus();
}

template <typename T>
absl::Status TrainerMemory::Take(T*& pointer, size_t count) {
  void* memory = nullptr;
  VIXEN_RETURN_IF_ERROR(TakeBytes(memory, count * sizeof(T)));
  pointer = static_cast<T*>(memory);
  return absl::OkStatus();
}

uint64_t TrainerMemory::BytesOfRows(const DeviceNetwork& network, DevicePrecision precision,
                                    uint32_t rows) {
  constexpr uint64_t kLittle = 512;  // of a row: Q, signs, the columns of two minibatches
  uint64_t elements = 2ull * kMinibatches * network.layers[0].inputs;
  for (const DeviceLayer& layer : network.layers) {
    elements += tile::PaddedFeatures(layer.inputs) + tile::PaddedFeatures(layer.outputs);
  }
  return rows * (elements * ElementBytes(precision) + kLittle);
}

absl::Status TrainerMemory::Allocate(const DeviceNetwork& network, const PassShape& shape,
                                     const UpdateSettings& settings, uint64_t launch) {
  const size_t element = ElementBytes(shape.precision), rows = settings.rows;
  UpdateBuffers all;
  for (uint32_t l = 0; l < DeviceNetwork::kLayers; ++l) {
    const DeviceLayer& layer = network.layers[l];
    VIXEN_RETURN_IF_ERROR(
        TakeBytes(all.input[l], size_t{tile::PaddedFeatures(layer.inputs)} * rows * element));
    VIXEN_RETURN_IF_ERROR(TakeBytes(all.gradient_of[l],
                                    size_t{tile::PaddedFeatures(layer.outputs)} * rows * element));
  }
  for (float** part : {&all.online, &all.target, &all.first, &all.second}) {
    VIXEN_RETURN_IF_ERROR(Take(*part, network.parameters));
  }
  VIXEN_RETURN_IF_ERROR(Take(all.gradient, network.parameters + kRankFigures));
  VIXEN_RETURN_IF_ERROR(Take(
      all.partial, size_t{network.parameters} * static_cast<size_t>(shape.splits) + kRankFigures));
  for (void** image : {&all.online_image, &all.online_transposed, &all.target_image}) {
    VIXEN_RETURN_IF_ERROR(TakeBytes(*image, network.image_elements * element));
  }
  for (uint16_t*& negative : all.negative) {
    if (shape.wgmma) VIXEN_RETURN_IF_ERROR(Take(negative, rows / tile::kRowBlock * 512));
  }
  VIXEN_RETURN_IF_ERROR(Take(all.loss_part, shape.backward_blocks(settings.rows)));
  VIXEN_RETURN_IF_ERROR(Take(all.norm_part, ReduceBlocks(network)));
  VIXEN_RETURN_IF_ERROR(Take(all.done_blocks, 1));
  VIXEN_RETURN_IF_ERROR(Take(all.step, 1));
  VIXEN_RETURN_IF_ERROR(Take(all.control, 1));
  VIXEN_RETURN_IF_ERROR(Take(all.statistics, launch));
  VIXEN_RETURN_IF_ERROR(lost_.Allocate(1));
  SetLost(false);
  all.lost = lost_.data();
  VIXEN_RETURN_IF_ERROR(Take(all.sum_q, rows));
  VIXEN_RETURN_IF_ERROR(Take(all.most_q, rows));
  VIXEN_RETURN_IF_ERROR(Take(all.best, rows));
  VIXEN_RETURN_IF_ERROR(Take(all.next_q, rows * DeviceNetwork::kHeadRows));
  for (UpdateBuffers& view : views_) {
    view = all;
    VIXEN_RETURN_IF_ERROR(TakeBytes(view.states, 2 * rows * network.layers[0].inputs * element));
    VIXEN_RETURN_IF_ERROR(Take(view.action, rows));
    VIXEN_RETURN_IF_ERROR(Take(view.reward, rows));
    VIXEN_RETURN_IF_ERROR(Take(view.discount, rows));
    VIXEN_RETURN_IF_ERROR(Take(view.weight, rows));
    VIXEN_RETURN_IF_ERROR(Take(view.slot, rows));
    VIXEN_RETURN_IF_ERROR(Take(view.generation, rows));
    VIXEN_RETURN_IF_ERROR(Take(view.abs_td, rows));
    VIXEN_RETURN_IF_ERROR(Take(view.taken_q, rows));
  }
  return absl::OkStatus();
}

absl::Status TrainerMemory::Upload(const DeviceNetwork& network, const kernels::Parameters& from,
                                   float* to, cudaStream_t stream) {
  const std::vector<float> host = ToDeviceLayout(network, from);
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(to, host.data(), host.size() * sizeof(float),
                                             cudaMemcpyHostToDevice, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  return absl::OkStatus();
}

absl::StatusOr<kernels::Parameters> TrainerMemory::Download(
    const DeviceNetwork& network, const float* from, const kernels::Architecture& architecture,
    kernels::WeightsKind kind, cudaStream_t stream) const {
  std::vector<float> host(network.parameters);
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(host.data(), from, host.size() * sizeof(float),
                                             cudaMemcpyDeviceToHost, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  return FromDeviceLayout(network, host.data(), architecture, kind);
}

}  // namespace vixen::learner
