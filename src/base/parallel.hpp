// Threads. Work is split into items that do not depend on each other; each item writes its own result, so
// what is computed never depends on the number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace lacuna {

// The number of threads meant by a `--threads` value: 0 means all cores this process may use, or fewer if it
// cannot start as many. Throws InputError if it cannot start the number requested.
int resolve_threads(int requested);

// Runs `body` where `parallel_for` may use `threads` threads. Nested calls inside `body` share those threads.
// Rethrows what `body` throws.
void with_threads(int threads, const std::function<void()>& body);

// Calls item(i) for each i in [0, count), in any order, on the threads of the enclosing `with_threads`;
// without one, in order on the calling thread. `grain` items at a time go to one thread. Calls nest: an item
// may itself call parallel_for. The first exception is rethrown here once all items have ended.
void parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t)>& item);

}  // namespace lacuna
