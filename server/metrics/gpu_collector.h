// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <vector>

#include "server/metrics/nvml.h"

namespace vixen::server {

// The GPU's own readings, taken at each scrape: vixen_gpu_*, one series with the label `gpu` (PCI
// bus id). What the card does not report is left out.
class GpuCollector final : public prometheus::Collectable {
 public:
  GpuCollector(std::shared_ptr<const Nvml> nvml, std::string pci_bus_id)
      : nvml_(std::move(nvml)), pci_bus_id_(std::move(pci_bus_id)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::shared_ptr<const Nvml> nvml_;
  const std::string pci_bus_id_;
};

}  // namespace vixen::server
