// Threads. Work is split into independent items; each writes its own result, so results never depend on the
// number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace lacuna {

// Returns the number of threads for a `--threads` value: 0 means all cores that this process may use, or
// fewer if that many threads cannot be started. Throws InputError if it cannot start the number requested.
int resolve_threads(int requested);

// Runs `body` where `parallel_for` may use `threads` threads. Nested calls inside `body` share those threads.
// Rethrows what `body` throws.
void with_threads(int threads, const std::function<void()>& body);

// Calls item(i) for each i in [0, count), in any order, on the threads of the enclosing `with_threads`;
// without one, in order on the calling thread. `grain` items at a time go to one thread. Calls nest: an item
// may itself call parallel_for. The first exception is rethrown here once all items have ended.
void parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t)>& item);

}  // namespace lacuna
