// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "learner/client/run_book.h"

namespace vixen::learner {

// Logs the balance of each run, a line each.
void LogSheets(const RunBook& book);

}  // namespace vixen::learner
