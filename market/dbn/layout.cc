// SPDX-License-Identifier: Apache-2.0
#include "market/dbn/layout.h"

#include <iterator>

#include "absl/strings/str_format.h"

namespace vixen::market::dbn {
namespace {

constexpr const char* kSchemas[] = {
    "mbo",      "mbp-1",    "mbp-10",     "tbbo",       "trades", "ohlcv-1s",  "ohlcv-1m",
    "ohlcv-1h", "ohlcv-1d", "definition", "statistics", "status", "imbalance", "ohlcv-eod",
    "cmbp-1",   "cbbo-1s",  "cbbo-1m",    "tcbbo",      "bbo-1s", "bbo-1m"};

struct Kind {
  uint8_t type;
  const char* name;
};
constexpr Kind kKinds[] = {{0x00, "trades"},    {0x01, "mbp-1 or tbbo"}, {0x0A, "mbp-10"},
                           {0x11, "ohlcv"},     {0x12, "status"},        {0x13, "definition"},
                           {0x14, "imbalance"}, {0x15, "error"},         {0x16, "symbol mapping"},
                           {0x17, "system"},    {0x18, "statistics"},    {0x20, "ohlcv-1s"},
                           {0x21, "ohlcv-1m"},  {0x22, "ohlcv-1h"},      {0x23, "ohlcv-1d"},
                           {0x24, "ohlcv-eod"}, {0xA0, "mbo"},           {0xB1, "cmbp-1"},
                           {0xC0, "cbbo-1s"},   {0xC1, "cbbo-1m"},       {0xC2, "tcbbo"},
                           {0xC3, "bbo-1s"},    {0xC4, "bbo-1m"}};

}  // namespace

std::string SchemaName(uint16_t schema) {
  if (schema == kMixedSchema) return "mixed";
  return schema < std::size(kSchemas) ? kSchemas[schema] : "unknown";
}

std::string RecordTypeName(uint8_t type) {
  const char* name = "unknown";
  for (const Kind& kind : kKinds) {
    if (kind.type == type) name = kind.name;
  }
  return absl::StrFormat("0x%02X %s", type, name);
}

}  // namespace vixen::market::dbn
