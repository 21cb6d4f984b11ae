// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/repeat_filter.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/str_cat.h"

namespace vixen::telemetry {
namespace {

constexpr size_t kExampleBytes = 120;

std::array<std::atomic<uint64_t>, spdlog::level::n_levels> lines_of_level{};
std::atomic<uint64_t> suppressed_lines{0};

// The text with each run of digits as one #, so that counters and addresses do not make it new, and
// the fields as they are (log.h) but for the sequence: what happens to another policy or group is
// another event.
std::string KindOf(const spdlog::details::log_msg& message) {
  std::string_view left(message.payload.data(), message.payload.size());
  std::string kind(1, static_cast<char>('0' + message.level));
  bool digits = false;
  for (const char c : left.substr(0, left.find(kFieldMark))) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind.push_back(c);
    if (digit && !digits) kind.push_back('#');
    digits = digit;
  }
  for (size_t mark = left.find(kFieldMark); mark != left.npos; mark = left.find(kFieldMark)) {
    left.remove_prefix(mark + 1);
    const std::string_view field = left.substr(0, left.find(kFieldMark));
    if (!field.starts_with("sequence=")) base::StrAppend(&kind, field, " ");
  }
  return kind;
}

}  // namespace

LogCounts CountsOfLogs() {
  LogCounts counts;
  for (size_t i = 0; i < counts.lines.size(); ++i) counts.lines[i] = lines_of_level[i];
  counts.suppressed = suppressed_lines;
  return counts;
}

void RepeatFilter::sink_it_(const spdlog::details::log_msg& message) {
  const std::string_view logger(message.logger_name.data(), message.logger_name.size());
  if (message.time - looked_ >= period_ / 4 || kinds_.size() >= kMostKinds) {
    looked_ = message.time;
    EndPeriods(logger, message.time - period_);
  }
  if (kinds_.size() >= kMostKinds) kinds_.clear();
  Kind& kind = kinds_[KindOf(message)];
  if (kind.passed == 0) {
    kind.began = message.time;
    kind.level = message.level;
    kind.example.assign(message.payload.data(), std::min(message.payload.size(), kExampleBytes));
  }
  if (kind.passed >= repeats_) {
    ++kind.suppressed;
    ++suppressed_lines;
    return;
  }
  ++kind.passed;
  ++lines_of_level[static_cast<size_t>(message.level)];
  sink_->log(message);
}

void RepeatFilter::EndPeriods(std::string_view logger, spdlog::log_clock::time_point before) {
  std::erase_if(kinds_, [&](const auto& entry) {
    const Kind& kind = entry.second;
    if (kind.began > before) return false;
    if (kind.suppressed > 0) Tell(logger, kind);
    return true;
  });
}

void RepeatFilter::Tell(std::string_view logger, const Kind& kind) {
  const std::string text =
      base::StrCat(kind.suppressed, " more lines like this one were left out: ", kind.example);
  ++lines_of_level[static_cast<size_t>(kind.level)];
  sink_->log(spdlog::details::log_msg({logger.data(), logger.size()}, kind.level,
                                      {text.data(), text.size()}));
}

void RepeatFilter::flush_() {
  EndPeriods("", spdlog::log_clock::time_point::max());
  sink_->flush();
}

}  // namespace vixen::telemetry
