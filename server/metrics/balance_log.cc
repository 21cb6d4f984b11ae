// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/balance_log.h"

#include <spdlog/spdlog.h>

#include <string>

#include "base/str_cat.h"
#include "proto/telemetry/log.h"

namespace vixen::server {
namespace {

std::string Text(const Sheet& sheet, uint64_t Tally::*field) {
  return base::StrCat(
      "offered ", sheet.offered.*field, ", durable ", sheet.durable.*field, ", acknowledged ",
      sheet.acknowledged.*field, ", in flight ", sheet.in_flight.*field, ", retained ",
      sheet.retained.*field, ", dropped as overflow ", sheet.dropped_overflow.*field,
      ", dropped as lost with its consumer ", sheet.dropped_lost.*field, ", dropped as too slow ",
      sheet.dropped_slow.*field, ", not offered ", sheet.not_offered.*field);
}

}  // namespace

void LogBooks(const Policies& policies) {
  for (const std::shared_ptr<Policy>& policy : policies.All()) {
    for (const Sheet& sheet : policy->delivery.Sheets()) {
      spdlog::info("books of policy {}, group {}: {} batches; {} rows{}", policy->name, sheet.group,
                   Text(sheet, &Tally::batches), Text(sheet, &Tally::rows),
                   telemetry::Fields({{"policy", policy->name}, {"group", sheet.group}}));
    }
  }
}

}  // namespace vixen::server
