// SPDX-License-Identifier: Apache-2.0
#include "server/service/collect_streams.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "server/service/collect_stream.h"

namespace vixen::server {

using Clock = std::chrono::steady_clock;

CollectStreams::CollectStreams(uint32_t max_streams,
                               std::chrono::duration<double> progress_deadline,
                               ActorMetrics& metrics)
    : max_streams_(max_streams),
      deadline_(std::chrono::duration_cast<Clock::duration>(progress_deadline)),
      metrics_(metrics),
      watch_([this] { Watch(); }) {}

CollectStreams::~CollectStreams() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  watch_.join();
}

absl::Status CollectStreams::Add(const std::shared_ptr<CollectStream>& stream) {
  std::lock_guard lock(mutex_);
  if (active_ >= max_streams_) {
    return absl::ResourceExhaustedError(
        base::StrCat("max_streams ", max_streams_, " Collect streams are open already"));
  }
  streams_[stream.get()] = Entry{stream};
  metrics_.streams->Set(++active_);
  metrics_.streams_opened->Increment();
  return absl::OkStatus();
}

void CollectStreams::LeaveLocked(const CollectStream* stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || !std::exchange(found->second.active, false)) return;
  metrics_.streams->Set(--active_);
}

void CollectStreams::Leave(const CollectStream* stream) {
  std::lock_guard lock(mutex_);
  LeaveLocked(stream);
}

void CollectStreams::Remove(const CollectStream* stream) {
  std::lock_guard lock(mutex_);
  LeaveLocked(stream);
  streams_.erase(stream);
  changed_.notify_all();
}

std::vector<std::shared_ptr<CollectStream>> CollectStreams::All() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<CollectStream>> all;
  for (const auto& [key, entry] : streams_) {
    if (auto stream = entry.stream.lock()) all.push_back(std::move(stream));
  }
  return all;
}

void CollectStreams::DrainAll() {
  for (const std::shared_ptr<CollectStream>& stream : All()) stream->Drain();
}

void CollectStreams::AbortAll(const absl::Status& status) {
  for (const std::shared_ptr<CollectStream>& stream : All()) stream->Abort(status);
}

bool CollectStreams::WaitUntilEmpty(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return streams_.empty(); });
}

void CollectStreams::Watch() {
  const Clock::duration period =
      std::min<Clock::duration>(deadline_ / 4, std::chrono::milliseconds(250));
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, period, [this] { return stopping_; });
    lock.unlock();
    for (const std::shared_ptr<CollectStream>& stream : All()) {
      stream->CheckProgress(Clock::now(), deadline_);
    }
    lock.lock();
  }
}

}  // namespace vixen::server
