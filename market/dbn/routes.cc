// SPDX-License-Identifier: Apache-2.0
#include "market/dbn/routes.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "base/status_macros.h"

namespace vixen::market::dbn {
namespace {

constexpr size_t kMostOthers = 20;  // instruments that are kept to be named in an error

}  // namespace

void Routes::Forget() {
  routes_.clear();
  last_ = nullptr;
}

void Routes::StartFile(const Metadata& metadata) {
  symbols_.StartFile(metadata);
  Forget();
}

void Routes::AddMapping(const uint8_t* record, size_t size, uint8_t version) {
  symbols_.AddRecord(record, size, version);
  Forget();
}

bool Routes::IsWanted(const std::string& name, uint32_t instrument) const {
  if (options_.symbols.empty()) return true;
  const std::string id = absl::StrCat(instrument);
  const std::string_view symbol = std::string_view(name).substr(0, name.rfind('/'));
  return std::ranges::any_of(options_.symbols, [&](const std::string& wanted) {
    return wanted == name || wanted == symbol || wanted == id;
  });
}

absl::StatusOr<int> Routes::SeriesOfName(const std::string& name, uint16_t publisher,
                                         uint32_t instrument,
                                         const std::function<void(const std::string& name)>& open) {
  const auto [place, added] = current_.try_emplace(name);
  Current& current = place->second;
  if (!added && current.publisher != publisher) {
    return base::UsageError(absl::StrCat("instrument ", name, " comes from publishers ",
                                         current.publisher, " and ", publisher,
                                         "; choose one by --publisher ", current.publisher));
  }
  if (added || current.instrument != instrument) {
    current = {publisher, instrument, series_++};
    open(name);
  }
  return current.series;
}

absl::StatusOr<int> Routes::LookUp(const uint8_t* record, int32_t day,
                                   const std::function<void(const std::string& name)>& open) {
  const uint64_t key = KeyOf(record);
  if (last_ == nullptr || key != last_key_) {
    last_ = &routes_[key];
    last_key_ = key;
  }
  Route& route = *last_;
  if (day >= route.first_day && day < route.end_day) return route.series;
  const uint32_t instrument = Load<uint32_t>(record + 4);
  const DayName name = symbols_.NameOf(instrument, day);
  route = {name.first_day, name.end_day, kNotWanted};
  if (!IsWanted(name.name, instrument)) {
    if (others_.size() < kMostOthers && std::ranges::find(others_, name.name) == others_.end()) {
      others_.push_back(name.name);
    }
    return kNotWanted;
  }
  VIXEN_ASSIGN_OR_RETURN(route.series,
                         SeriesOfName(name.name, Load<uint16_t>(record + 2), instrument, open));
  return route.series;
}

}  // namespace vixen::market::dbn
