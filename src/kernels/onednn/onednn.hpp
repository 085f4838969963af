// oneDNN's engine and its number of threads, for every user of it here.
#pragma once

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace lacuna::kernels {

// oneDNN takes the number of threads from OpenMP when a primitive is made and when it runs.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

inline dnnl::engine& cpu_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

}  // namespace lacuna::kernels
