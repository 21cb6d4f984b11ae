// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/gpu_collector.h"

#include <prometheus/metric_family.h>

#include <utility>

namespace vixen::server {

std::vector<prometheus::MetricFamily> GpuCollector::Collect() const {
  using prometheus::MetricType;
  const GpuReading reading = nvml_->Read();
  std::vector<prometheus::MetricFamily> families;
  const auto add = [&](const char* name, const char* help, MetricType type,
                       const std::optional<double>& value) {
    if (!value) return;
    prometheus::ClientMetric metric;
    metric.label = {{"gpu", pci_bus_id_}};
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
    families.push_back({name, help, type, {std::move(metric)}});
  };
  add("vixen_gpu_lost", "1 when the GPU has fallen off the bus", MetricType::Gauge,
      reading.lost ? 1 : 0);
  add("vixen_gpu_utilization_ratio", "Share of the last sample period with a kernel running",
      MetricType::Gauge, reading.utilization);
  add("vixen_gpu_power_watts", "Power drawn now", MetricType::Gauge, reading.power_watts);
  add("vixen_gpu_memory_used_bytes", "Device memory used by all processes", MetricType::Gauge,
      reading.memory_used_bytes);
  add("vixen_gpu_memory_bytes", "Device memory", MetricType::Gauge, reading.memory_total_bytes);
  add("vixen_gpu_temperature_celsius", "Temperature of the chip", MetricType::Gauge,
      reading.temperature_celsius);
  add("vixen_gpu_sm_clock_hertz", "Clock of the multiprocessors", MetricType::Gauge,
      reading.sm_clock_hertz);
  add("vixen_gpu_uncorrected_ecc_errors_total", "Uncorrected memory errors since the driver began",
      MetricType::Counter, reading.uncorrected_ecc_errors);
  return families;
}

}  // namespace vixen::server
