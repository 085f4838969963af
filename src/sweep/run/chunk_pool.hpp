// Threads that take chunks from a queue and put their results into another.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "sweep/run/runner.hpp"

namespace lacuna::sweep {

class ChunkPool {
 public:
  // Chunks to put beyond those that its threads work on, so that none of them waits for the next one.
  static constexpr int kAhead = 1;
  // Interval at which to poll for messages of ranks: short compared with a chunk, and long enough to leave
  // the core idle.
  static constexpr auto kPoll = std::chrono::milliseconds(2);

  ChunkPool(ChunkRunner& runner, int threads) {
    for (int i = 0; i < std::max(1, threads); ++i) {
      threads_.emplace_back([this, &runner](const std::stop_token& stop) { work(runner, stop); });
    }
  }
  // Waits for the chunks that are being computed, whatever ended their use (a full disk).
  ~ChunkPool() {
    drop_waiting();
    for (std::jthread& thread : threads_) thread.request_stop();
  }
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  void put(Chunk chunk) {
    const std::scoped_lock lock(mutex_);
    chunks_.push_back(std::move(chunk));
    chunk_came_.notify_one();
  }
  // Forgets the chunks that no thread has taken yet, and returns how many there were.
  int drop_waiting() {
    const std::scoped_lock lock(mutex_);
    const int dropped = static_cast<int>(chunks_.size());
    chunks_.clear();
    return dropped;
  }
  // Returns the results so far; waits for one, but no longer than `wait`.
  std::vector<ChunkResult> take(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    result_came_.wait_for(lock, wait, [&] { return !results_.empty(); });
    return std::exchange(results_, {});
  }

 private:
  void work(ChunkRunner& runner, const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!chunk_came_.wait(lock, stop, [&] { return !chunks_.empty(); })) return;
      const Chunk chunk = std::move(chunks_.front());
      chunks_.pop_front();
      lock.unlock();
      ChunkResult result = runner.run(chunk);
      lock.lock();
      results_.push_back(std::move(result));
      result_came_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any chunk_came_;
  std::condition_variable result_came_;
  std::deque<Chunk> chunks_;
  std::vector<ChunkResult> results_;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace lacuna::sweep
