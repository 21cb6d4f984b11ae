// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's management library says about one GPU. The library comes with the driver, so it is
// opened at run time: a machine without it has no GPU metrics, and nothing else changes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace vixen::server {

// What a card does not report (ECC on a consumer card, power in a virtual machine) is empty.
struct GpuReading {
  std::optional<double> utilization;  // share of the last sample period with a kernel running
  std::optional<double> power_watts;
  std::optional<double> memory_used_bytes;  // of all processes
  std::optional<double> memory_total_bytes;
  std::optional<double> temperature_celsius;
  std::optional<double> sm_clock_hertz;
  std::optional<double> uncorrected_ecc_errors;  // since the driver was loaded
  bool lost = false;  // the GPU has fallen off the bus, or answers nothing but "unknown error"
};

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // The GPU with this PCI bus id, as CollectorInfo gives it (CUDA's and NVML's numbering differ).
  // UNAVAILABLE when the library is not there or lacks a function; INTERNAL with NVML's words.
  static absl::StatusOr<std::unique_ptr<Nvml>> Open(const std::string& pci_bus_id,
                                                    const char* library = kLibrary);
  ~Nvml();

  // Any thread.
  GpuReading Read() const;

 private:
  struct Functions;
  Nvml(std::unique_ptr<Functions> functions, void* device);

  std::unique_ptr<Functions> functions_;
  void* device_;
};

}  // namespace vixen::server
