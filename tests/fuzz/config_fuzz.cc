// SPDX-License-Identifier: Apache-2.0
// A configuration file of either program: parsed, checked, printed and parsed again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "proto/config/config_check.h"
#include "proto/config/config_file.h"
#include "vixen/v1/config.pb.h"

namespace {
template <typename Config>
void Try(const std::string& text) {
  Config config;
  auto origins = vixen::config::ParseConfig(text, "fuzz", config);
  if (!origins.ok()) return;
  if (!vixen::config::CheckConfig(config, *origins).ok()) return;
  Config again;
  if (!vixen::config::ParseConfig(vixen::config::EffectiveText(config), "effective", again).ok())
    abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Try<vixen::v1::ActorConfig>(text);
  Try<vixen::v1::LearnerConfig>(text);
  return 0;
}
