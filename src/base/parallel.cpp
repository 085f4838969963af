#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <omp.h>

namespace lacuna {
namespace {

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

int resolve_threads(int requested) { return requested > 0 ? requested : omp_get_num_procs(); }

void with_threads(int threads, const std::function<void()>& body) {
  FirstError error;
#pragma omp parallel num_threads(std::max(1, threads)) default(none) shared(error, body)
#pragma omp single
  error.guard(body);
  error.rethrow();
}

void parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t)>& item) {
  if (omp_get_num_threads() <= 1) {
    for (std::size_t i = 0; i < count; ++i) item(i);
    return;
  }
  FirstError error;
  grain = std::max<std::size_t>(1, grain);
  // Tasks rather than a worksharing loop: they nest, so the blocks of one layer's operation and the
  // operations of a trace share one pool, and a thread that finishes early takes whatever is left.
#pragma omp taskloop grainsize(grain) default(none) firstprivate(count) shared(error, item)
  for (std::size_t i = 0; i < count; ++i) {
    error.guard([&] { item(i); });
  }
  error.rethrow();
}

}  // namespace lacuna
