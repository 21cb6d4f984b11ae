// SPDX-License-Identifier: Apache-2.0
#include "learner/client/sheet_log.h"

#include <spdlog/spdlog.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/telemetry/log.h"

namespace vixen::learner {

void LogSheets(const RunBook& book) {
  for (const v1::LearnerSheet& sheet : book.Sheets()) {
    v1::Amount rejected;
    for (const auto& [reason, amount] : sheet.rejected()) {
      rejected.set_batches(rejected.batches() + amount.batches());
      rejected.set_rows(rejected.rows() + amount.rows());
    }
    const auto text = [](const v1::Amount& amount) {
      return absl::StrCat(amount.batches(), " batches, ", amount.rows(), " rows");
    };
    spdlog::info(
        "run {:016x} of {}{}: received {}; inserted {}; duplicate {}; rejected {}; lost with "
        "earlier processes {}{}",
        sheet.run_id(), sheet.actor(), sheet.ended() ? " (ended)" : "", text(sheet.received()),
        text(sheet.inserted()), text(sheet.duplicate()), text(rejected),
        text(sheet.lost_with_predecessor()),
        telemetry::Fields({{"policy", sheet.policy()},
                           {"group", sheet.group()},
                           {"actor", sheet.actor()},
                           {"run_id", telemetry::RunIdText(sheet.run_id())}}));
  }
}

}  // namespace vixen::learner
