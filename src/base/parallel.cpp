#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <latch>
#include <mutex>
#include <omp.h>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/optional_libraries.hpp"
#include "base/work_progress.hpp"

namespace lacuna {
namespace {

// Returns the number of threads, this one included, that run at the same time if up to `wanted` are started.
int startable_threads(int wanted) {
  std::latch end(1);
  std::vector<std::jthread> started;
  try {
    started.reserve(static_cast<std::size_t>(wanted));
    while (static_cast<int>(started.size()) + 1 < wanted) started.emplace_back([&end] { end.wait(); });
  } catch (const std::system_error&) {  // no memory for its stack, or too many processes
  } catch (const std::bad_alloc&) {
  }
  end.count_down();
  return static_cast<int>(started.size()) + 1;
}

// Exceptions must not leave an OpenMP region: keep the first, rethrow it outside.
class FirstError {
 public:
  template <typename Work>
  void guard(const Work& work) {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      work();
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

int resolve_threads(int requested) {
  if (!kHasOpenMp && requested > 1)
    throw missing_library(kOpenMp, fmt::format("--threads {}", requested), ", or leave out --threads");
  // OpenMP ends the program with its own message if it cannot start a thread (`ulimit -v`, `ulimit -u`,
  // a container's limit). So they are tried here first, and OpenMP then starts its own while there is room.
  static std::mutex mutex;
  static int started = 1;
  const std::scoped_lock lock(mutex);
  int threads = requested > 0 ? requested : omp_get_num_procs();
  if (threads <= started || omp_in_parallel() != 0) return threads;
  const int most = startable_threads(threads);
  if (most < threads && requested > 0)
    throw InputError(
        fmt::format("--threads {}", requested),
        fmt::format("this process can start only {}: its memory or number of processes is limited "
                    "(ulimit -v, ulimit -u, a container)",
                    most),
        fmt::format("use at most --threads {}, or raise the limit", std::max(1, most / 2)));
  // Half of them where all cores were meant: stacks must leave room for the work.
  if (most < threads) threads = std::max(1, most / 2);
#pragma omp parallel num_threads(threads)
  {}
  started = std::max(started, threads);
  return threads;
}

void with_threads(int threads, const std::function<void()>& body) {
  FirstError error;
#pragma omp parallel num_threads(std::max(1, threads)) default(none) shared(error, body)
#pragma omp single
  error.guard(body);
  error.rethrow();
}

void parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t)>& item) {
  const ParallelPart part(count);
  if (omp_get_num_threads() <= 1) {
    for (std::size_t i = 0; i < count; ++i) part.run(i, item);
    return;
  }
  FirstError error;
  grain = std::max<std::size_t>(1, grain);
  const std::size_t chunks = (count + grain - 1) / grain;
  const std::size_t tasks = std::min(static_cast<std::size_t>(omp_get_num_threads()), chunks);
  std::atomic<std::size_t> next{0};
  // Tasks rather than a worksharing loop: they nest, so the blocks of one layer's operation and the
  // operations of a trace share one pool. One task per thread, which takes what is left piece by piece: GCC's
  // runtime executes a loop on one thread as soon as more than 64 tasks per thread are waiting.
#pragma omp taskloop num_tasks(tasks) default(none) firstprivate(tasks, count, grain) \
    shared(error, item, part, next)
  for (std::size_t task = 0; task < tasks; ++task) {
    for (std::size_t first; (first = next.fetch_add(grain, std::memory_order_relaxed)) < count;) {
      const std::size_t end = std::min(count, first + grain);
      for (std::size_t i = first; i < end; ++i) error.guard([&] { part.run(i, item); });
    }
  }
  error.rethrow();
}

}  // namespace lacuna
