// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_dataset.h"

#include "base/status_macros.h"
#include "kernels/cuda/status.h"

namespace vixen::kernels {
namespace {

constexpr size_t kPackedWidth = 64;  // fp16 values a bar

uint32_t StrideOf(uint32_t features) { return (features + 3) / 4 * 4; }

}  // namespace

uint64_t DeviceDataset::BytesOf(const MarketView& host, bool packed) {
  const uint64_t a_bar = StrideOf(host.feature_count) * sizeof(float) + 4 * sizeof(float) + 1 +
                         (packed ? kPackedWidth * sizeof(uint16_t) : 0);
  return host.bars * a_bar;
}

uint64_t DeviceDataset::UploadBytesOf(const MarketView& host) {
  return uint64_t{host.bars} * host.feature_count * sizeof(float);
}

absl::StatusOr<std::shared_ptr<const DeviceDataset>> DeviceDataset::Upload(const MarketView& host,
                                                                           bool packed,
                                                                           cudaStream_t stream) {
  auto dataset = std::make_shared<DeviceDataset>();
  const size_t bars = host.bars;
  const uint32_t stride = StrideOf(host.feature_count);
  DeviceBuffer<float> source;
  VIXEN_RETURN_IF_ERROR(source.Allocate(bars * host.feature_count));
  VIXEN_RETURN_IF_ERROR(dataset->features_.Allocate(bars * stride));
  VIXEN_RETURN_IF_ERROR(dataset->targets_.Allocate(bars * 4));
  VIXEN_RETURN_IF_ERROR(dataset->last_.Allocate(bars + 4));  // prefetched by whole words
  if (packed) VIXEN_RETURN_IF_ERROR(dataset->packed_.Allocate(bars * kPackedWidth));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(source.data(), host.features, source.bytes(),
                                             cudaMemcpyHostToDevice, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(dataset->targets_.data(), host.targets,
                                             dataset->targets_.bytes(), cudaMemcpyHostToDevice,
                                             stream));
  VIXEN_CUDA_RETURN_IF_ERROR(
      cudaMemcpyAsync(dataset->last_.data(), host.last, bars, cudaMemcpyHostToDevice, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueLayOutFeatures(source.data(), bars, host.feature_count, stride,
                                                   dataset->features_.data(),
                                                   dataset->packed_.data(), stream));
  dataset->host_ = host;
  dataset->states_ = RangeOfStates(host);
  DeviceMarket& market = dataset->market_;
  market.view = host;
  market.view.features = nullptr;
  market.view.targets = dataset->targets_.data();
  market.view.last = dataset->last_.data();
  market.features = dataset->features_.data();
  market.stride = stride;
  market.packed = dataset->packed_.data();
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  return dataset;
}

bool DeviceDataset::Holds(const MarketView& host, bool packed) const {
  return host_.features == host.features && host_.targets == host.targets &&
         host_.last == host.last && host_.bars == host.bars &&
         host_.feature_count == host.feature_count && host_.begin == host.begin &&
         host_.end == host.end && (!packed || !packed_.empty());
}

std::shared_ptr<const DeviceDataset> DeviceDatasets::FindLocked(const MarketView& host,
                                                                bool packed) {
  std::erase_if(in_use_, [](const auto& dataset) { return dataset.expired(); });
  for (const std::weak_ptr<const DeviceDataset>& candidate : in_use_) {
    std::shared_ptr<const DeviceDataset> dataset = candidate.lock();
    if (dataset != nullptr && dataset->Holds(host, packed)) return dataset;
  }
  return nullptr;
}

std::shared_ptr<const DeviceDataset> DeviceDatasets::Find(const MarketView& host, bool packed) {
  std::lock_guard lock(mutex_);
  return FindLocked(host, packed);
}

absl::StatusOr<std::shared_ptr<const DeviceDataset>> DeviceDatasets::FindOrUpload(
    const MarketView& host, bool packed, cudaStream_t stream) {
  std::lock_guard lock(mutex_);
  if (std::shared_ptr<const DeviceDataset> dataset = FindLocked(host, packed)) return dataset;
  VIXEN_ASSIGN_OR_RETURN(std::shared_ptr<const DeviceDataset> dataset,
                         DeviceDataset::Upload(host, packed, stream));
  in_use_.push_back(dataset);
  return dataset;
}

}  // namespace vixen::kernels
