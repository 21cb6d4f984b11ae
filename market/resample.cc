// SPDX-License-Identifier: Apache-2.0
#include "market/resample.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/exit_code.h"

namespace vixen::market {
namespace {

// When a longer bar starts and ends.
struct Bucket {
  int64_t start = 0, end = 0;
};

Bucket BucketOf(int64_t time, int64_t size, Session* session) {
  std::optional<Session::Place> place;
  if (session != nullptr) place = session->At(time);
  const int64_t origin = place ? place->open_ns : 0;
  const int64_t offset = time - origin;
  const int64_t number = offset / size - (offset % size < 0 ? 1 : 0);
  const int64_t start = origin + number * size;
  return {start, place ? std::min(start + size, place->close_ns) : start + size};
}

// Adds bar `from` to the longer bar `to`.
void Merge(size_t from, size_t to, Bars& bars) {
  bars.high[to] = std::max(bars.high[to], bars.high[from]);
  bars.low[to] = std::min(bars.low[to], bars.low[from]);
  bars.close[to] = bars.close[from];
  bars.volume[to] += bars.volume[from];
  bars.last[to] = bars.last[from];
}

void Begin(size_t from, size_t to, int64_t start, Bars& bars) {
  bars.timestamp[to] = start;
  bars.open[to] = bars.open[from];
  bars.high[to] = bars.high[from];
  bars.low[to] = bars.low[from];
  bars.close[to] = bars.close[from];
  bars.volume[to] = bars.volume[from];
  bars.last[to] = bars.last[from];
}

}  // namespace

absl::Status Resample(int64_t size_ns, int64_t interval_ns, Session* session, Bars& bars) {
  const auto text = [](int64_t ns) { return absl::FormatDuration(absl::Nanoseconds(ns)); };
  if (interval_ns > 0 && size_ns % interval_ns != 0) {
    return base::UsageError(absl::StrCat("--resample ", text(size_ns),
                                         " is no multiple of the bars' interval of ",
                                         text(interval_ns)));
  }
  std::vector<uint8_t> keep;
  std::vector<BarInstrument> instruments = bars.instruments;
  if (instruments.empty()) instruments.push_back({"", 0});
  uint64_t unfinished = 0;
  size_t to = 0;
  const size_t size = bars.size();
  for (size_t i = 0; i < instruments.size(); ++i) {
    const size_t begin = instruments[i].begin;
    const size_t end = i + 1 < instruments.size() ? instruments[i + 1].begin : size;
    if (i < bars.instruments.size()) bars.instruments[i].begin = to;
    Bucket bucket;
    bool open = false;
    int64_t last_time = 0;
    for (size_t bar = begin; bar < end; ++bar) {
      last_time = bars.timestamp[bar];
      const bool ends = bars.last[bar] != 0;
      if (open && last_time < bucket.end) {
        Merge(bar, to - 1, bars);
      } else {
        bucket = BucketOf(last_time, size_ns, session);
        Begin(bar, to++, bucket.start, bars);
        keep.push_back(1);
      }
      open = !ends;
    }
    if (begin < end && last_time + interval_ns < bucket.end) {
      keep[to - 1] = 0;
      ++unfinished;
    }
  }
  bars.timestamp.resize(to);
  for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close, &bars.volume}) {
    column->resize(to);
  }
  bars.last.resize(to);
  KeepBars(keep, bars);
  if (unfinished > 0) bars.left_out["resampled bars that the data end inside"] = unfinished;
  bars.metadata["resampled_from"] = text(interval_ns);
  bars.metadata["bar_interval"] = text(size_ns);
  if (bars.size() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--resample ", text(size_ns), ": the data end inside the first such bar"));
}

}  // namespace vixen::market
