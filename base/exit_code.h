// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vixen::base {

// Exit codes of every Vixen program: 0 done, 1 the check or run failed, 2 wrong usage or
// configuration.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// An INVALID_ARGUMENT that ExitCodeOf maps to 2 instead of 1: the command line or configuration is
// wrong, as opposed to the data. Survives being passed on as a status.
absl::Status UsageError(const std::string& message);
bool IsUsageError(const absl::Status& status);

int ExitCodeOf(const absl::Status& status);

// Prints "<program>: <message>" as one line on stderr unless OK; returns ExitCodeOf(status).
int ReportStatus(std::string_view program, const absl::Status& status);

// As ReportStatus, and ends the process with that exit code there and then: no destructor and no
// exit handler runs. For what an orderly end would wait for without end.
[[noreturn]] void LeaveNow(std::string_view program, const absl::Status& status);

}  // namespace vixen::base
