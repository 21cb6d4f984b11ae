// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/process_collector.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/cpu_count.h"

namespace vixen::telemetry {
namespace {

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator folder("/proc/self/fd", error);
  return error ? 0 : static_cast<double>(std::distance(begin(folder), end(folder)));
}

double Threads() {
  std::error_code error;
  const std::filesystem::directory_iterator folder("/proc/self/task", error);
  return error ? 0 : static_cast<double>(std::distance(begin(folder), end(folder)));
}

double MostDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

prometheus::MetricFamily Single(const char* name, const char* help, prometheus::MetricType type,
                                double value) {
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return {name, help, type, {std::move(metric)}};
}

ProcessCollector::ProcessCollector()
    : start_seconds_(
          std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
              .count()) {}

std::vector<prometheus::MetricFamily> ProcessCollector::Collect() const {
  using prometheus::MetricType;
  return {Single("process_cpu_seconds_total", "User and system time", MetricType::Counter,
                 CpuSeconds()),
          Single("process_resident_memory_bytes", "Resident memory", MetricType::Gauge,
                 ResidentBytes()),
          Single("process_open_fds", "Open file descriptors", MetricType::Gauge, OpenDescriptors()),
          Single("process_max_fds", "Limit of open file descriptors", MetricType::Gauge,
                 MostDescriptors()),
          Single("process_threads", "Threads", MetricType::Gauge, Threads()),
          Single("process_start_time_seconds", "Start since the epoch", MetricType::Gauge,
                 start_seconds_),
          Single("vixen_memory_limit_bytes", "Memory that the cgroup allows, or the machine has",
                 MetricType::Gauge, static_cast<double>(base::AvailableMemoryBytes())),
          Single("vixen_cpu_limit_cores", "Processors by affinity and cgroup quota",
                 MetricType::Gauge, base::AvailableCpus())};
}

}  // namespace vixen::telemetry
