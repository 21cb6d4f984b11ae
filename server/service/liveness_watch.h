// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "server/service/health.h"

namespace vixen::server {

// Asks once a second whether anything is wrong that only a new process cures, and tells the probes.
class LivenessWatch {
 public:
  // `find_fault` is called from the watch's thread; empty: nothing. Both must outlive it.
  LivenessWatch(std::function<std::string()> find_fault, Health& health);
  ~LivenessWatch();

 private:
  void Run();

  const std::function<std::string()> find_fault_;
  Health& health_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace vixen::server
