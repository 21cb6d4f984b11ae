// SPDX-License-Identifier: Apache-2.0
// The CPU executor's weights: a live and a staged network of each kind.
#pragma once

#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/collect/collector.h"
#include "kernels/nn/cpu_network.h"

namespace vixen::kernels {

class CpuWeights {
 public:
  CpuWeights(const Architecture& architecture, MatrixKernel kernel);

  // May run beside a launch: touches staged networks only.
  absl::StatusOr<WeightsProbe> Stage(const Parameters& parameters);
  void Commit(WeightsKind kind);

  // nullptr before the first commit. Stay valid until the next Commit of the kind.
  const CpuQNetwork* online() const { return online_.live.get(); }
  const CpuQNetwork* target() const { return target_.live.get(); }
  const CpuCuriosityNetwork* curiosity() const { return curiosity_.live.get(); }

 private:
  template <typename Network>
  struct Buffers {
    std::unique_ptr<const Network> live;
    std::unique_ptr<const Network> staged;

    void Swap() {
      if (staged != nullptr) live = std::move(staged);
    }
  };

  absl::Status Check(const Parameters& parameters) const;
  std::vector<float> ProbeQ(const CpuQNetwork& network) const;
  std::vector<float> ProbeCuriosity(const CpuCuriosityNetwork& network) const;

  const Architecture architecture_;
  const MatrixKernel kernel_;
  std::mutex mutex_;  // guards the staged networks
  Buffers<CpuQNetwork> online_;
  Buffers<CpuQNetwork> target_;
  Buffers<CpuCuriosityNetwork> curiosity_;
};

}  // namespace vixen::kernels
