// The objects behind the opaque handles of lacuna.h, and the exception boundary.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "capi/lacuna.h"
#include "kernels/conv.hpp"
#include "kernels/ffn/feed_forward.hpp"
#include "report/result/simulation_text.hpp"
#include "trace/trace.hpp"
#include "trace/trace_builder.hpp"

struct lacuna_trace {
  lacuna::Trace trace;
};

struct lacuna_builder {
  std::string name;
  lacuna::TraceBuilder builder;
  bool has_layer = false;
};

struct lacuna_result {
  std::vector<lacuna::Trace> traces;  // for the page, which also shows where the zeros are
  lacuna::SimulationOutcome outcome;
  std::string notes;  // simulation_notes()
};

struct lacuna_conv {
  lacuna::kernels::ConvPlan plan;
};

struct lacuna_ffn {
  lacuna::kernels::FeedForward block;
};

struct lacuna_ffn_pass {
  lacuna::kernels::FeedForwardPass pass;
};

namespace lacuna::capi {

// Runs `work` and turns what it throws into a status and the thread's last error.
lacuna_status guarded(const std::function<void()>& work) noexcept;

// The same for work that uses OpenMP. In a forked child it runs on a separate thread: the pool that OpenMP
// keeps for the forking thread has lost its threads, and would wait for them for ever.
lacuna_status guarded_parallel(const std::function<void()>& work) noexcept;

// The value of an enumeration of lacuna.h, which a caller may have filled with anything.
template <typename Enum, std::size_t N>
Enum choose(int given, const std::array<Enum, N>& values, std::string_view where, std::string_view name) {
  if (given < 0 || static_cast<std::size_t>(given) >= N) {
    throw InputError(where, fmt::format("there is no {} {}", name, given),
                     fmt::format("give 0 to {}; lacuna.h names them", N - 1));
  }
  return values[static_cast<std::size_t>(given)];
}

// resolve_threads(), with no lock held while a process forks.
int threads_for(int requested);

[[noreturn]] void refuse_missing(std::string_view name);
// Throws InputError for a null pointer.
inline void require(const void* pointer, std::string_view name) {
  if (pointer == nullptr) refuse_missing(name);
}
// The same for several, whose names are separated by ", ".
void require_all(std::string_view names, std::initializer_list<const void*> pointers);
// A copy that lacuna_string_free() frees.
char* copy_text(std::string_view text);

// A caller's structure in the size that it was compiled with; what it does not have is zero.
template <typename Struct>
Struct sized_copy(const Struct* given, std::string_view name) {
  require(given, name);
  Struct copy{};
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  require(size >= sizeof size ? given : nullptr, name);
  std::memcpy(&copy, given, size < sizeof copy ? size : sizeof copy);
  return copy;
}

}  // namespace lacuna::capi
