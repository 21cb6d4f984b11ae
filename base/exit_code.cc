// SPDX-License-Identifier: Apache-2.0
#include "base/exit_code.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/cord.h"
#include "base/str_cat.h"

namespace vixen::base {
namespace {

constexpr std::string_view kUsagePayload = "vixen.usage";

}  // namespace

absl::Status UsageError(const std::string& message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(ToAbsl(kUsagePayload), absl::Cord("1"));
  return status;
}

bool IsUsageError(const absl::Status& status) {
  return status.GetPayload(ToAbsl(kUsagePayload)).has_value();
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  return IsUsageError(status) ? kExitUsage : kExitFailed;
}

int ReportStatus(std::string_view program, const absl::Status& status) {
  if (!status.ok()) {
    std::string line = StrCat(program, ": ", status.message());
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    line.push_back('\n');
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  return ExitCodeOf(status);
}

void LeaveNow(std::string_view program, const absl::Status& status) {
  _exit(ReportStatus(program, status));
}

}  // namespace vixen::base
