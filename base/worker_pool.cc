// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace vixen::base {

using Body = std::function<void(int64_t, int)>;

struct WorkerPool::State {
  std::mutex one_loop;  // held by the caller whose loop runs

  std::mutex mutex;  // guards what follows, but for `next`
  std::condition_variable start;
  std::condition_variable done;
  const Body* body = nullptr;
  int64_t pieces = 0;
  uint64_t loop = 0;  // counts loops; a thread waits for a number that it has not served
  int running = 0;    // threads that have not finished the loop
  bool stopping = false;
  std::atomic<int64_t> next{0};

  std::vector<std::thread> threads;

  void TakePieces(const Body& run, int64_t count, int thread) {
    for (int64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      run(piece, thread);
    }
  }

  void Serve(int thread) {
    std::unique_lock lock(mutex);
    for (uint64_t served = 0;;) {
      start.wait(lock, [&] { return stopping || loop != served; });
      if (stopping) return;
      served = loop;
      const Body& run = *body;
      const int64_t count = pieces;
      lock.unlock();
      TakePieces(run, count, thread);
      lock.lock();
      if (--running == 0) done.notify_one();
    }
  }
};

WorkerPool::WorkerPool(int threads) : state_(std::make_unique<State>()) {
  for (int thread = 1; thread < threads; ++thread) {
    state_->threads.emplace_back([state = state_.get(), thread] { state->Serve(thread); });
  }
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->start.notify_all();
  }
  for (std::thread& thread : state_->threads) thread.join();
}

int WorkerPool::threads() const { return static_cast<int>(state_->threads.size()) + 1; }

void WorkerPool::ParallelFor(int64_t pieces, const Body& body) {
  if (pieces <= 0) return;
  std::lock_guard one_loop(state_->one_loop);
  if (pieces == 1 || state_->threads.empty()) {
    for (int64_t piece = 0; piece < pieces; ++piece) body(piece, 0);
    return;
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->body = &body;
    state_->pieces = pieces;
    state_->next.store(0, std::memory_order_relaxed);
    state_->running = static_cast<int>(state_->threads.size());
    ++state_->loop;
    state_->start.notify_all();
  }
  state_->TakePieces(body, pieces, 0);
  std::unique_lock lock(state_->mutex);
  state_->done.wait(lock, [this] { return state_->running == 0; });
}

}  // namespace vixen::base
