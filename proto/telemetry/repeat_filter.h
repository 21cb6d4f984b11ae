// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vixen::telemetry {

// Lines by spdlog's level, and those that were left out, of all filters of this process.
struct LogCounts {
  std::array<uint64_t, spdlog::level::n_levels> lines{};
  uint64_t suppressed = 0;
};
LogCounts CountsOfLogs();

// Stands before each field of a message (log.h).
inline constexpr char kFieldMark = '\x1f';

// Hands on at most `repeats` messages of a kind in each `period`: a peer that fails in a loop, or
// does so on purpose, does not fill the disk. Messages that differ only in digits
// of their text are of one kind, each level and each set of fields by itself. When a period with
// suppressed lines is over, the next message of any kind brings a line with their number; so does
// flush.
class RepeatFilter final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  RepeatFilter(std::shared_ptr<spdlog::sinks::sink> sink, int repeats,
               std::chrono::milliseconds period)
      : sink_(std::move(sink)), repeats_(repeats), period_(period) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override;
  void set_pattern_(const std::string& pattern) override { sink_->set_pattern(pattern); }
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    sink_->set_formatter(std::move(formatter));
  }

 private:
  static constexpr size_t kMostKinds = 512;
  struct Kind {
    spdlog::log_clock::time_point began;
    int passed = 0;
    uint64_t suppressed = 0;
    spdlog::level::level_enum level = spdlog::level::info;
    std::string example;
  };

  void Tell(std::string_view logger, const Kind& kind);
  void EndPeriods(std::string_view logger, spdlog::log_clock::time_point before);

  const std::shared_ptr<spdlog::sinks::sink> sink_;
  const int repeats_;
  const std::chrono::milliseconds period_;
  spdlog::log_clock::time_point looked_;
  std::unordered_map<std::string, Kind> kinds_;
};

}  // namespace vixen::telemetry
