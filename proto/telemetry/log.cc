// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/str_cat.h"
#include "proto/telemetry/process_collector.h"
#include "proto/telemetry/repeat_filter.h"

namespace vixen::telemetry {
namespace {

constexpr std::array<std::pair<std::string_view, spdlog::level::level_enum>, 5> kLevels = {{
    {"trace", spdlog::level::trace},
    {"debug", spdlog::level::debug},
    {"info", spdlog::level::info},
    {"warn", spdlog::level::warn},
    {"error", spdlog::level::err},
}};

std::string_view PayloadOf(const spdlog::details::log_msg& message) {
  return {message.payload.data(), message.payload.size()};
}

std::string JsonOf(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool IsKey(std::string_view key) {
  return !key.empty() && key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == key.npos;
}

// The message and its fields as members of the JSON object that the pattern builds around them.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(base::ToAbsl(PayloadOf(message)), kFieldMark);
    std::string text(parts.front().data(), parts.front().size());
    std::string fields;
    for (size_t i = 1; i < parts.size(); ++i) {
      const std::string_view part(parts[i].data(), parts[i].size());
      const size_t equals = part.find('=');
      if (equals == part.npos || !IsKey(part.substr(0, equals))) {
        text.append(" ").append(part);
        continue;
      }
      base::StrAppend(&fields, ",\"", part.substr(0, equals),
                      "\":", JsonOf(part.substr(equals + 1)));
    }
    const std::string json = base::StrCat("\"message\":", JsonOf(text), fields);
    out.append(json.data(), json.data() + json.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

class TextMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    for (const char c : PayloadOf(message)) {
      const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      out.push_back(control ? ' ' : c);
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<TextMessage>();
  }
};

template <typename Message>
std::unique_ptr<spdlog::formatter> Formatter(const std::string& pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<Message>('*').set_pattern(pattern);
  return formatter;
}

}  // namespace

absl::Status SetUpLog(const char* program, const v1::LogSettings& settings) {
  auto sink =
      std::make_shared<RepeatFilter>(std::make_shared<spdlog::sinks::stderr_color_sink_mt>(),
                                     kRepeats, std::chrono::seconds(kRepeatSeconds));
  auto logger = std::make_shared<spdlog::logger>(program, std::move(sink));
  if (settings.log_format() == v1::JSON) {
    logger->set_formatter(Formatter<JsonMessage>(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","program":"%n","thread":%t,%*})"));
  } else {
    logger->set_formatter(Formatter<TextMessage>("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %*"));
  }
  spdlog::set_default_logger(std::move(logger));
  return SetLogLevel(settings.log_level());
}

absl::Status SetLogLevel(const std::string& level) {
  for (const auto& [name, value] : kLevels) {
    if (name != level) continue;
    spdlog::set_level(value);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      base::StrCat("log level \"", level, "\" is none of trace, debug, info, warn, error"));
}

std::string LogLevel() {
  for (const auto& [name, value] : kLevels) {
    if (value == spdlog::get_level()) return std::string(name);
  }
  return "off";
}

std::string Fields(std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  std::string text;
  for (const auto& [key, value] : fields) {
    text.push_back(kFieldMark);
    base::StrAppend(&text, key, "=", value);
  }
  return text;
}

std::string RunIdText(uint64_t run_id) { return absl::StrFormat("%016x", run_id); }

std::vector<prometheus::MetricFamily> LogCollector::Collect() const {
  const LogCounts counts = CountsOfLogs();
  prometheus::MetricFamily lines{
      "vixen_log_lines_total", "Lines logged, by level", prometheus::MetricType::Counter, {}};
  for (const auto& [name, value] : kLevels) {
    prometheus::ClientMetric metric;
    metric.label = {{"level", std::string(name)}};
    metric.counter.value = static_cast<double>(counts.lines[static_cast<size_t>(value)]);
    lines.metric.push_back(std::move(metric));
  }
  return {std::move(lines),
          Single("vixen_log_suppressed_total", "Lines left out because they repeated others",
                 prometheus::MetricType::Counter, static_cast<double>(counts.suppressed))};
}

}  // namespace vixen::telemetry
