// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::server {
namespace {

constexpr std::array<std::pair<std::string_view, spdlog::level::level_enum>, 5> kLevels = {{
    {"trace", spdlog::level::trace},
    {"debug", spdlog::level::debug},
    {"info", spdlog::level::info},
    {"warn", spdlog::level::warn},
    {"error", spdlog::level::err},
}};

// The message as a JSON string, quotes and all: the pattern builds the object around it.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    const std::string json =
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(json.data(), json.data() + json.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

}  // namespace

absl::Status SetUpLog(const v1::LogSettings& settings) {
  auto logger = spdlog::stderr_color_mt("vixen-actor");
  if (settings.log_format() == v1::JSON) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    formatter->add_flag<JsonMessage>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","thread":%t,"message":%*})");
    logger->set_formatter(std::move(formatter));
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v", spdlog::pattern_time_type::utc);
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

}  // namespace vixen::server
