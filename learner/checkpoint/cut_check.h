// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "learner/checkpoint/learner_cut.h"

namespace vixen::learner {

// Whether a cut that was read can be gone on from with a dataset of `bars` bars: what rows index
// lies inside of it, their values are finite, windows belong to runs and slots that there are,
// sequences are disjoint and ascending. Checksums say that a file is what was written, this that
// it may be used. DATA_LOSS naming row or run and value. O(rows).
absl::Status CheckCut(const LearnerCut& cut, uint64_t bars);

}  // namespace vixen::learner
