// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/actor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::bench {

inline constexpr char kPolicy[] = "bench";

// A small dataset for actors that never look at it.
absl::Status WriteBenchDataset(const std::string& path);

// The real actor over a ReadyCollector, on a free loopback port.
absl::StatusOr<std::unique_ptr<server::Actor>> StartReadyActor(const std::string& dataset,
                                                               uint32_t episodes, uint32_t steps,
                                                               uint64_t chunk_bytes,
                                                               const v1::TlsSettings& tls);

}  // namespace vixen::bench
