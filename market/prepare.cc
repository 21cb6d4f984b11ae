// SPDX-License-Identifier: Apache-2.0
#include "market/prepare.h"

#include <utility>

#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/factors.h"
#include "market/quality.h"
#include "market/resample.h"
#include "market/session.h"

namespace vixen::market {
namespace {

constexpr int64_t kDay = 86'400'000'000'000;

}  // namespace

absl::Status PrepareBars(const PrepareOptions& options, Bars& bars) {
  if (!options.factors.empty()) {
    VIXEN_ASSIGN_OR_RETURN(auto actions, ReadFactors(options.factors, options.time_zone));
    VIXEN_RETURN_IF_ERROR(ApplyFactors(std::move(actions), bars));
  }
  std::optional<Session> session;
  if (!options.session.empty()) {
    if (options.time_zone.empty()) {
      return base::UsageError(
          "--session needs --tz, the zone of its clock, e.g. --tz America/New_York");
    }
    VIXEN_ASSIGN_OR_RETURN(session, Session::Parse(options.session, options.time_zone));
    const bool cut = options.resample_ns.value_or(0) < kDay;
    VIXEN_RETURN_IF_ERROR(ApplySession(*session, cut, bars));
  }
  if (!options.resample_ns) return absl::OkStatus();
  return Resample(*options.resample_ns, IntervalOf(bars), session ? &*session : nullptr, bars);
}

}  // namespace vixen::market
