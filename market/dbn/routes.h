// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "market/dbn/layout.h"
#include "market/dbn/options.h"
#include "market/dbn/symbols.h"

namespace vixen::market::dbn {

// To which series the bars of a publisher's instrument go on a day: by the name that the files'
// mappings give it then. A name that passes to another instrument begins another series.
class Routes {
 public:
  static constexpr int kNotWanted = -1;

  explicit Routes(const DbnOptions& options) : options_(options) {}

  // Mappings changed: of another file, or by a record.
  void StartFile(const Metadata& metadata);
  void AddMapping(const uint8_t* record, size_t size, uint8_t version);

  // The series of a bar's record, kNotWanted for instruments that were not asked for. `open` is
  // called with the name of a series that begins; it gets the next number from 0. A usage error
  // when two publishers send one name.
  absl::StatusOr<int> Find(const uint8_t* record, int32_t day,
                           const std::function<void(const std::string& name)>& open) {
    if (last_ != nullptr && KeyOf(record) == last_key_ && day >= last_->first_day &&
        day < last_->end_day) {
      return last_->series;
    }
    return LookUp(record, day, open);
  }

  // Some of the instruments that were not asked for.
  const std::vector<std::string>& others() const { return others_; }

 private:
  // For days that have the same answer.
  struct Route {
    int32_t first_day = 0, end_day = 0;
    int series = kNotWanted;
  };
  // The instrument that stands behind a name now.
  struct Current {
    uint16_t publisher = 0;
    uint32_t instrument = 0;
    int series = 0;
  };

  static uint64_t KeyOf(const uint8_t* record) {
    return uint64_t{Load<uint16_t>(record + 2)} << 32 | Load<uint32_t>(record + 4);
  }
  absl::StatusOr<int> LookUp(const uint8_t* record, int32_t day,
                             const std::function<void(const std::string& name)>& open);
  absl::StatusOr<int> SeriesOfName(const std::string& name, uint16_t publisher, uint32_t instrument,
                                   const std::function<void(const std::string& name)>& open);
  bool IsWanted(const std::string& name, uint32_t instrument) const;
  void Forget();

  const DbnOptions& options_;
  Symbols symbols_;
  std::map<std::string, Current> current_;
  std::unordered_map<uint64_t, Route> routes_;
  uint64_t last_key_ = 0;
  Route* last_ = nullptr;
  int series_ = 0;  // begun so far
  std::vector<std::string> others_;
};

}  // namespace vixen::market::dbn
