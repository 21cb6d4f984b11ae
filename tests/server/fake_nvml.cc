// SPDX-License-Identifier: Apache-2.0
// A management library for tests, with one GPU at 0000:3B:00.0: no ECC, and failing as it is told.
#include <cstring>

namespace {
int failure = 0;
int Answer() { return failure; }
}  // namespace

extern "C" {
struct FakeUtilization {
  unsigned gpu, memory;
};
struct FakeMemory {
  unsigned long long total, free, used;
};

void fakeNvmlFail(int with) { failure = with; }

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int error) { return error == 6 ? "Not Found" : "other"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = &failure;
  return std::strcmp(id, "0000:3B:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetUtilizationRates(void*, FakeUtilization* out) {
  *out = {75, 20};
  return Answer();
}
int nvmlDeviceGetPowerUsage(void*, unsigned* out) {
  *out = 61'500;
  return Answer();
}
int nvmlDeviceGetMemoryInfo(void*, FakeMemory* out) {
  *out = {24ull << 30, 20ull << 30, 4ull << 30};
  return Answer();
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* out) {
  *out = sensor == 0 ? 58 : 0;
  return Answer();
}
int nvmlDeviceGetClockInfo(void*, int clock, unsigned* out) {
  *out = clock == 1 ? 2040 : 0;
  return Answer();
}
int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long*) {
  return failure == 0 ? 3 : failure;
}
}
