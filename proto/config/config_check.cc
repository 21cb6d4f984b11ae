// SPDX-License-Identifier: Apache-2.0
#include "proto/config/config_check.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/ascii.h"
#include "base/exit_code.h"
#include "base/str_cat.h"
#include "proto/config/combination_check.h"
#include "proto/config/effective.h"
#include "proto/config/leaf.h"
#include "proto/config/value_text.h"

namespace vixen::config {
namespace {

using base::StrCat;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// A limit as the field's own type holds it: 0.9999 is not a float, so 0.9999f must pass for it.
double LimitOf(const FieldDescriptor& field, double limit) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT ? static_cast<float>(limit) : limit;
}

bool InRange(const Leaf& leaf, double value) {
  const v1::Setting& setting = leaf.setting();
  if (!std::isfinite(value)) return false;
  if (setting.has_min()) {
    const double least = LimitOf(*leaf.field, setting.min());
    if (value < least || (setting.exclusive_min() && value == least)) return false;
  }
  if (setting.has_max() && value > LimitOf(*leaf.field, setting.max())) return false;
  return !setting.has_multiple_of() || std::fmod(value, setting.multiple_of()) == 0;
}

void CheckLeaf(const Message& owner, const Leaf& leaf, std::vector<Fault>& faults) {
  const v1::Setting& setting = leaf.setting();
  const int count = CountOf(owner, *leaf.field);
  if (setting.has_count() && count != static_cast<int>(setting.count())) {
    faults.push_back(
        {leaf.name(), StrCat(leaf.name(), " has ", count, " values, needs ", setting.count())});
  }
  if (!IsNumeric(*leaf.field)) return;
  for (int i = 0; i < count; ++i) {
    if (InRange(leaf, NumberOf(owner, *leaf.field, i))) continue;
    const std::string range = RangeText(leaf);
    faults.push_back(
        {leaf.name(), StrCat(leaf.name(), leaf.field->is_repeated() ? StrCat("[", i, "]") : "",
                             " is ", ValueText(owner, *leaf.field, i),
                             ", allowed: ", range.empty() ? "finite numbers" : range)});
  }
}

}  // namespace

std::vector<Fault> FindFaults(const Message& config) {
  std::unique_ptr<Message> effective(config.New());
  effective->CopyFrom(config);
  FillDefaults(*effective);
  std::vector<Fault> faults;
  for (const Leaf& leaf : LeavesOf(*effective->GetDescriptor())) {
    CheckLeaf(OwnerOf(*effective, leaf), leaf, faults);
  }
  FindBadCombinations(*effective, faults);
  return faults;
}

std::string FaultText(const Fault& fault, const Origins& origins) {
  const auto origin = origins.find(fault.setting);
  return origin == origins.end() ? fault.message : StrCat(origin->second, ": ", fault.message);
}

absl::Status CheckConfig(const Message& config, const Origins& origins) {
  const std::vector<Fault> faults = FindFaults(config);
  if (faults.empty()) return absl::OkStatus();
  const std::string more = faults.size() > 1 ? StrCat(" (and ", faults.size() - 1, " more)") : "";
  return base::UsageError(FaultText(faults.front(), origins) + more);
}

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
}

double LeastLimiterWindow(double samples_per_insert, uint64_t rows_a_launch, uint32_t batch_size,
                          uint32_t prefetch) {
  return samples_per_insert * static_cast<double>(rows_a_launch) +
         static_cast<double>(batch_size) * (static_cast<double>(prefetch) + 1);
}

absl::StatusOr<double> LimiterWindow(const v1::LimiterSettings& limiter, uint64_t rows_a_launch,
                                     uint32_t batch_size, uint32_t prefetch) {
  const double spi = limiter.samples_per_insert();
  if (limiter.limiter_window() == 0) {
    return LeastLimiterWindow(spi, 2 * rows_a_launch, batch_size, prefetch);
  }
  const double least = LeastLimiterWindow(spi, rows_a_launch, batch_size, prefetch);
  if (limiter.limiter_window() < least) {
    return base::UsageError(StrCat("limiter_window is ", limiter.limiter_window(),
                                   ", needs at least ", least, " (samples_per_insert ", spi, " · ",
                                   rows_a_launch, " rows a launch + batch_size ", batch_size,
                                   " · (", prefetch, " prefetched + 1)); 0 chooses"));
  }
  return limiter.limiter_window();
}

}  // namespace vixen::config
