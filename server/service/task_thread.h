// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "base/bounded_queue.h"

namespace vixen::server {

// One thread that runs what gRPC's callback threads must not wait for: staging of weights,
// encodings that copy. In order.
class TaskThread {
 public:
  explicit TaskThread(size_t capacity) : tasks_(capacity), thread_([this] { Run(); }) {}
  ~TaskThread() { Stop(); }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // False when `capacity` tasks wait already, or after Stop. Never blocks.
  bool Post(std::function<void()> task) { return tasks_.TryPush(task); }

  // Runs what was posted, then ends the thread.
  void Stop() {
    tasks_.Close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    while (std::optional<std::function<void()>> task = tasks_.Pop()) (*task)();
  }

  base::BoundedQueue<std::function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace vixen::server
