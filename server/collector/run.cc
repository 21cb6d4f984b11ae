// SPDX-License-Identifier: Apache-2.0
#include "server/collector/run.h"

#include <random>

namespace vixen::server {

uint64_t RandomRunId() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace vixen::server
