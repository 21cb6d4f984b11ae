// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/collector/policy.h"

namespace vixen::server {

// One line a policy and group: where this run's batches and rows are. The last word of a run that
// stops, since its sheets end with the process.
void LogBooks(const Policies& policies);

}  // namespace vixen::server
