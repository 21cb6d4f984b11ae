// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "market/dbn/metadata.h"

namespace vixen::market::dbn {

// What an instrument id is called, and for how long.
struct DayName {
  int32_t first_day = INT32_MIN, end_day = INT32_MAX;  // UTC days since 1970
  std::string name;
};

// Names of instrument ids: from the metadata's mappings, which hold for their days only; from
// symbol mapping records, until the next one; from a single symbol of a file without mappings; else
// the id in decimal.
class Symbols {
 public:
  // Of the next file. What records of earlier files said is forgotten.
  void StartFile(const Metadata& metadata);
  // A record of type 0x16, all of its bytes; one that is too short for its version tells nothing.
  void AddRecord(const uint8_t* record, size_t size, int version);

  // The name on that day and the days around it that have the same answer.
  DayName NameOf(uint32_t instrument, int32_t day);

 private:
  std::map<uint32_t, std::vector<DayName>> mapped_;
  std::map<uint32_t, std::string> told_;             // by records
  std::string only_symbol_;                          // of a file without mappings
  std::map<std::string, uint32_t> only_instrument_;  // the first id that had that symbol
};

}  // namespace vixen::market::dbn
