// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "market/bar.h"
#include "market/session.h"

namespace vixen::market {

// Longer bars of shorter ones: first open, highest high, lowest low, last close, sum of volumes;
// the time is the start of the longer bar. They begin at multiples of `size_ns` since 1970 UTC, or,
// with a session, counted from its open. None crosses a segment. A longer bar is known when it has
// ended: the last of an instrument is left out (and counted) when the bars end before it does, so
// that more bars later change no bar that was there before. A usage error when `size_ns` is no
// multiple of the bars' interval (`interval_ns`).
absl::Status Resample(int64_t size_ns, int64_t interval_ns, Session* session, Bars& bars);

}  // namespace vixen::market
