// SPDX-License-Identifier: Apache-2.0
// Logs of the daemons: stderr, one line an event, as text or as one JSON object a line.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "vixen/v1/config.pb.h"

namespace vixen::telemetry {

// Makes the default logger of the process. Lines that differ only in their numbers are one kind; of
// a kind at most kRepeats pass in kRepeatSeconds, then a line says how many were left out. Control
// characters in a message become spaces: whatever a peer sent, one event stays one line.
inline constexpr int kRepeats = 10;
inline constexpr int kRepeatSeconds = 10;
absl::Status SetUpLog(const char* program, const v1::LogSettings& settings);

// trace, debug, info, warn or error. INVALID_ARGUMENT naming other levels. Any thread.
absl::Status SetLogLevel(const std::string& level);
std::string LogLevel();

// What an event is about, for the end of a message: spdlog::info("stream open{}",
// Fields({{"policy", "p"}})) reads "stream open policy=p" as text, and has "policy":"p" beside
// "message" as JSON. Keys are [a-z_]+: policy, group, consumer, run_id, sequence, actor.
std::string Fields(std::initializer_list<std::pair<std::string_view, std::string>> fields);

// Run ids as everywhere in logs: 16 hexadecimal digits.
std::string RunIdText(uint64_t run_id);

// vixen_log_lines_total{level} and vixen_log_suppressed_total, of this process.
class LogCollector final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace vixen::telemetry
