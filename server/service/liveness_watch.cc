// SPDX-License-Identifier: Apache-2.0
#include "server/service/liveness_watch.h"

#include <chrono>
#include <utility>

namespace vixen::server {

LivenessWatch::LivenessWatch(std::function<std::string()> find_fault, Health& health)
    : find_fault_(std::move(find_fault)), health_(health), thread_([this] { Run(); }) {}

LivenessWatch::~LivenessWatch() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void LivenessWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_; })) {
    lock.unlock();
    health_.SetFault(find_fault_());
    lock.lock();
  }
}

}  // namespace vixen::server
