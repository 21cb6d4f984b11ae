// SPDX-License-Identifier: Apache-2.0
// From messages to what the kernels take, and to the bytes that travel and are hashed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "kernels/collect/collector.h"
#include "kernels/env/settings.h"
#include "kernels/nn/network.h"
#include "vixen/v1/config.pb.h"

namespace vixen::config {

// Every field set: what was given, else the preset's value, else the default; repeated fields
// filled.
v1::EnvironmentSettings EffectiveEnvironment(const v1::EnvironmentSettings& settings);

// The bytes of the effective settings, always the same for the same settings: `Opened.settings`.
// Their SHA-256 is the settings hash of batch headers.
std::string SettingsBytes(const v1::EnvironmentSettings& settings);

// The settings in bytes from elsewhere. INVALID_ARGUMENT when they do not parse, leave a field
// unset, hold one that this version does not know, or fail the configuration check; `source` begins
// the message.
absl::StatusOr<v1::EnvironmentSettings> ParseSettingsBytes(std::string_view bytes,
                                                           std::string_view source);

// Settings that passed the configuration check (config_check.h), effective or not.
kernels::EnvSettings ToEnvSettings(const v1::EnvironmentSettings& settings);
kernels::Architecture ToArchitecture(const v1::NetworkSettings& network, uint32_t features);
kernels::Precision ToPrecision(v1::PrecisionSetting precision);

// The run seed used by a policy: `seed` itself with `exact_seed`, else the first 8 bytes,
// little-endian, of SHA-256(seed u64 LE ‖ run id u64 LE ‖ policy name), so that neither restarts
// nor policies repeat each other.
uint64_t RunSeed(const v1::ExecutorSettings& execution, uint64_t run_id, std::string_view policy);

}  // namespace vixen::config
