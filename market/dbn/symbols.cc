// SPDX-License-Identifier: Apache-2.0
#include "market/dbn/symbols.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "market/dbn/layout.h"

namespace vixen::market::dbn {
namespace {

// Days are disjoint when sorted by their first one.
bool Overlap(std::vector<MappingInterval> intervals) {
  std::ranges::sort(intervals, {}, &MappingInterval::first_day);
  for (size_t i = 1; i < intervals.size(); ++i) {
    if (intervals[i].first_day < intervals[i - 1].end_day) return true;
  }
  return false;
}

std::string_view Text(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  return text.substr(0, text.find('\0'));
}

bool IsDecimal(std::string_view text) {
  uint32_t number = 0;
  return absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number);
}

}  // namespace

void Symbols::StartFile(const Metadata& metadata) {
  mapped_.clear();
  told_.clear();
  only_symbol_.clear();
  if (metadata.stype_out == kInstrumentId) {
    for (const Mapping& mapping : metadata.mappings) {
      // A parent symbol stands for many instruments at once: they keep their ids in the name.
      const bool many = Overlap(mapping.intervals);
      for (const MappingInterval& interval : mapping.intervals) {
        uint32_t instrument = 0;
        if (!absl::SimpleAtoi(interval.symbol, &instrument)) continue;
        mapped_[instrument].push_back(
            {interval.first_day, interval.end_day,
             many ? absl::StrCat(mapping.symbol, "/", instrument) : mapping.symbol});
      }
    }
  }
  if (metadata.mappings.empty() && metadata.symbols.size() == 1) only_symbol_ = metadata.symbols[0];
}

void Symbols::AddRecord(const uint8_t* record, size_t size, int version) {
  // Version 1: two symbols of 22 bytes; later ones: a byte of symbology before each of 71.
  const size_t width = version == 1 ? 22 : 71, kind = version == 1 ? 0 : 1;
  const size_t in_at = kRecordHeaderBytes + kind, out_at = in_at + width + kind;
  if (size < out_at + width) return;
  const std::string_view in = Text(record + in_at, width), out = Text(record + out_at, width);
  const std::string_view name = out.empty() || IsDecimal(out) ? in : out;
  if (!name.empty()) told_[Load<uint32_t>(record + 4)] = std::string(name);
}

DayName Symbols::NameOf(uint32_t instrument, int32_t day) {
  if (const auto told = told_.find(instrument); told != told_.end()) {
    return {INT32_MIN, INT32_MAX, told->second};
  }
  if (const auto mapped = mapped_.find(instrument); mapped != mapped_.end()) {
    for (const DayName& name : mapped->second) {
      if (day >= name.first_day && day < name.end_day) return name;
    }
    return {day, day + 1, absl::StrCat(instrument)};
  }
  if (!only_symbol_.empty()) {
    const uint32_t first = only_instrument_.try_emplace(only_symbol_, instrument).first->second;
    return {INT32_MIN, INT32_MAX,
            first == instrument ? only_symbol_ : absl::StrCat(only_symbol_, "/", instrument)};
  }
  return {INT32_MIN, INT32_MAX, absl::StrCat(instrument)};
}

}  // namespace vixen::market::dbn
