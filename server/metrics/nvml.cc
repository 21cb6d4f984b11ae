// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/nvml.h"

#include <utility>

#include "base/shared_library.h"
#include "base/str_cat.h"

namespace vixen::server {
namespace {

// NVML's binary interface, as far as it is used here.
using Device = void*;
struct Utilization {
  unsigned gpu = 0;  // percent
  unsigned memory = 0;
};
struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
constexpr int kSuccess = 0;
constexpr int kGpuIsLost = 15;
constexpr int kUnknown = 999;  // what a container hears of a device that was taken from its cgroup
constexpr int kTemperatureGpu = 0;
constexpr int kClockSm = 1;
constexpr int kUncorrected = 1;
constexpr int kVolatile = 0;

}  // namespace

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*find)(const char*, Device*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;  // milliwatts
  int (*memory)(Device, Memory*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;  // MHz
  int (*ecc_errors)(Device, int, int, unsigned long long*) = nullptr;
};

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Open(const std::string& pci_bus_id,
                                                 const char* library) {
  absl::StatusOr<base::SharedLibrary> opened = base::SharedLibrary::Open(library);
  if (!opened.ok()) {
    return absl::UnavailableError(base::StrCat(library, " is not here: no GPU metrics"));
  }
  auto functions = std::make_unique<Functions>();
  opened->Find("nvmlInit_v2", functions->init);
  opened->Find("nvmlShutdown", functions->shutdown);
  opened->Find("nvmlErrorString", functions->error_text);
  opened->Find("nvmlDeviceGetHandleByPciBusId_v2", functions->find);
  opened->Find("nvmlDeviceGetUtilizationRates", functions->utilization);
  opened->Find("nvmlDeviceGetPowerUsage", functions->power);
  opened->Find("nvmlDeviceGetMemoryInfo", functions->memory);
  opened->Find("nvmlDeviceGetTemperature", functions->temperature);
  opened->Find("nvmlDeviceGetClockInfo", functions->clock);
  opened->Find("nvmlDeviceGetTotalEccErrors", functions->ecc_errors);
  if (const absl::Status status = opened->FoundAll(); !status.ok()) {
    return absl::UnavailableError(base::StrCat(status.message(), ": no GPU metrics"));
  }
  if (const int error = functions->init(); error != kSuccess) {
    return absl::InternalError(base::StrCat("nvmlInit: ", functions->error_text(error)));
  }
  Device device = nullptr;
  if (const int error = functions->find(pci_bus_id.c_str(), &device); error != kSuccess) {
    const absl::Status status = absl::InternalError(base::StrCat(
        "nvmlDeviceGetHandleByPciBusId(", pci_bus_id, "): ", functions->error_text(error)));
    functions->shutdown();
    return status;
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions), device));
}

Nvml::Nvml(std::unique_ptr<Functions> functions, void* device)
    : functions_(std::move(functions)), device_(device) {}

Nvml::~Nvml() { functions_->shutdown(); }

GpuReading Nvml::Read() const {
  GpuReading reading;
  bool answered = false;
  bool unknown = false;
  const auto ask = [&](int result) {
    reading.lost = reading.lost || result == kGpuIsLost;
    answered = answered || result == kSuccess;
    unknown = unknown || result == kUnknown;
    return result == kSuccess;
  };
  Utilization utilization;
  if (ask(functions_->utilization(device_, &utilization))) {
    reading.utilization = utilization.gpu / 100.0;
  }
  unsigned value = 0;
  if (ask(functions_->power(device_, &value))) reading.power_watts = value / 1000.0;
  if (ask(functions_->temperature(device_, kTemperatureGpu, &value))) {
    reading.temperature_celsius = value;
  }
  if (ask(functions_->clock(device_, kClockSm, &value))) reading.sm_clock_hertz = value * 1e6;
  Memory memory;
  if (ask(functions_->memory(device_, &memory))) {
    reading.memory_used_bytes = static_cast<double>(memory.used);
    reading.memory_total_bytes = static_cast<double>(memory.total);
  }
  unsigned long long errors = 0;
  if (ask(functions_->ecc_errors(device_, kUncorrected, kVolatile, &errors))) {
    reading.uncorrected_ecc_errors = static_cast<double>(errors);
  }
  reading.lost = reading.lost || (unknown && !answered);
  return reading;
}

}  // namespace vixen::server
