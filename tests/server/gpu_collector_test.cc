// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/gpu_collector.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <map>

namespace vixen::server {
namespace {

constexpr char kGpu[] = "0000:3B:00.0";

class GpuCollectorTest : public ::testing::Test {
 protected:
  void TearDown() override { FailWith(0); }
  void FailWith(int error) {
    void* library = dlopen(VIXEN_FAKE_NVML, RTLD_LAZY);
    ASSERT_NE(library, nullptr) << dlerror();
    reinterpret_cast<void (*)(int)>(dlsym(library, "fakeNvmlFail"))(error);
    dlclose(library);
  }
  std::map<std::string, double> Scrape() {
    auto nvml = Nvml::Open(kGpu, VIXEN_FAKE_NVML);
    EXPECT_TRUE(nvml.ok()) << nvml.status();
    std::map<std::string, double> values;
    for (const auto& family : GpuCollector(*std::move(nvml), kGpu).Collect()) {
      EXPECT_EQ(family.metric.size(), 1u);
      EXPECT_EQ(family.metric[0].label[0].value, kGpu);
      values[family.name] = family.metric[0].gauge.value;
    }
    return values;
  }
};

TEST_F(GpuCollectorTest, GivesTheReadingsInBaseUnits) {
  const std::map<std::string, double> expected = {
      {"vixen_gpu_lost", 0},
      {"vixen_gpu_utilization_ratio", 0.75},
      {"vixen_gpu_power_watts", 61.5},
      {"vixen_gpu_memory_used_bytes", 4.0 * (1ull << 30)},
      {"vixen_gpu_memory_bytes", 24.0 * (1ull << 30)},
      {"vixen_gpu_temperature_celsius", 58},
      {"vixen_gpu_sm_clock_hertz", 2.04e9},
  };
  EXPECT_EQ(Scrape(), expected) << "and no ECC errors, which this card does not report";
}

TEST_F(GpuCollectorTest, ShowsALostGpuAndNothingElse) {
  FailWith(15);  // NVML_ERROR_GPU_IS_LOST
  EXPECT_EQ(Scrape(), (std::map<std::string, double>{{"vixen_gpu_lost", 1}}));
}

TEST_F(GpuCollectorTest, TakesAGpuThatAnswersNothingButUnknownErrorsAsLost) {
  FailWith(999);  // a container whose devices were taken from its cgroup
  EXPECT_EQ(Scrape(), (std::map<std::string, double>{{"vixen_gpu_lost", 1}}));
}

TEST_F(GpuCollectorTest, AGpuThatReportsNothingIsNotLostForThat) {
  FailWith(3);  // NVML_ERROR_NOT_SUPPORTED
  EXPECT_EQ(Scrape(), (std::map<std::string, double>{{"vixen_gpu_lost", 0}}));
}

TEST_F(GpuCollectorTest, NamesTheGpuThatIsNotThere) {
  const auto nvml = Nvml::Open("0000:01:00.0", VIXEN_FAKE_NVML);
  EXPECT_EQ(nvml.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(nvml.status().message(), "nvmlDeviceGetHandleByPciBusId(0000:01:00.0): Not Found");
}

TEST_F(GpuCollectorTest, DoesWithoutTheLibrary) {
  const auto nvml = Nvml::Open(kGpu, "libno-such-library.so.1");
  EXPECT_EQ(nvml.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GpuCollectorTest, NamesTheFunctionThatALibraryLacks) {
  const auto nvml = Nvml::Open(kGpu, "libm.so.6");
  EXPECT_EQ(nvml.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(nvml.status().message().find("nvmlInit_v2"), std::string::npos);
}

}  // namespace
}  // namespace vixen::server
