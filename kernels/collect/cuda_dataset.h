// SPDX-License-Identifier: Apache-2.0
// The dataset in device memory. Executors of several policies on one GPU share it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_range.h"
#include "kernels/cuda/buffer.h"

namespace vixen::kernels {

class DeviceDataset {
 public:
  // Copies `host` to the current device and returns when it is there. `packed`: also as fp16 rows,
  // for the tile kernels.
  static absl::StatusOr<std::shared_ptr<const DeviceDataset>> Upload(const MarketView& host,
                                                                     bool packed,
                                                                     cudaStream_t stream);
  // Device bytes, and those that Upload needs for a moment beside them.
  static uint64_t BytesOf(const MarketView& host, bool packed);
  static uint64_t UploadBytesOf(const MarketView& host);

  const DeviceMarket& market() const { return market_; }
  const StateRange& states() const { return states_; }
  // Whether it is a copy of `host`, which its executors keep alive.
  bool Holds(const MarketView& host, bool packed) const;

 private:
  MarketView host_;
  DeviceBuffer<float> features_;
  DeviceBuffer<uint16_t> packed_;
  DeviceBuffer<float> targets_;
  DeviceBuffer<uint8_t> last_;
  DeviceMarket market_;
  StateRange states_;
};

// The datasets of one device that are in use. Thread-safe.
class DeviceDatasets {
 public:
  // Null when it is not on the device.
  std::shared_ptr<const DeviceDataset> Find(const MarketView& host, bool packed);
  absl::StatusOr<std::shared_ptr<const DeviceDataset>> FindOrUpload(const MarketView& host,
                                                                    bool packed,
                                                                    cudaStream_t stream);

 private:
  std::shared_ptr<const DeviceDataset> FindLocked(const MarketView& host, bool packed);

  std::mutex mutex_;
  std::vector<std::weak_ptr<const DeviceDataset>> in_use_;
};

}  // namespace vixen::kernels
