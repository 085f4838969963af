// Errors, strings, versions, and life after fork().
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <thread>
#include <unistd.h>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/version.hpp"
#include "base/work_progress.hpp"
#include "capi/handles.hpp"

namespace lacuna::capi {
namespace {

std::string& last_error() {
  thread_local std::string message;
  return message;
}

lacuna_status fail(lacuna_status status, std::string_view message) noexcept {
  try {
    last_error() = message;
  } catch (...) {  // no memory for the message: the status still says what happened
  }
  return status;
}

// Held while threads are being counted and started, and by a thread that forks: a child never inherits it
// from a thread that it does not have.
std::mutex starting_threads;

struct AtFork {
  const pid_t loaded_by = getpid();
  AtFork() {
    pthread_atfork([] { starting_threads.lock(); }, [] { starting_threads.unlock(); },
                   [] { starting_threads.unlock(); });
  }
};
const AtFork at_fork;

}  // namespace

lacuna_status guarded(const std::function<void()>& work) noexcept {
  try {
    work();
    return LACUNA_OK;
  } catch (const Stopped&) {
    return fail(LACUNA_CANCELLED, "the simulation was cancelled");
  } catch (const InputError& error) {
    return fail(LACUNA_BAD_INPUT, error.what());
  } catch (const std::bad_alloc&) {
    return fail(LACUNA_NO_MEMORY, "there is not enough memory; free some, or use fewer samples or threads");
  } catch (const std::exception& error) {
    return fail(LACUNA_INTERNAL, error.what());
  } catch (...) {
    return fail(LACUNA_INTERNAL, "an error of an unknown kind; please report it");
  }
}

lacuna_status guarded_parallel(const std::function<void()>& work) noexcept {
  if (getpid() == at_fork.loaded_by) return guarded(work);
  return guarded([&] {
    std::exception_ptr error;
    std::thread apart([&] {
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
    });
    apart.join();
    if (error) std::rethrow_exception(error);
  });
}

int threads_for(int requested) {
  const std::scoped_lock lock(starting_threads);
  return resolve_threads(requested);
}

void refuse_missing(std::string_view name) {
  throw InputError("liblacuna", fmt::format("'{}' is null or has no size", name),
                   "give it; lacuna.h says what it is");
}

void require_all(std::string_view names, std::initializer_list<const void*> pointers) {
  for (const void* pointer : pointers) {
    const std::string_view name = names.substr(0, names.find(','));
    require(pointer, name);
    names.remove_prefix(std::min(names.size(), name.size() + 2));
  }
}

char* copy_text(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace lacuna::capi

int lacuna_abi_version(void) { return LACUNA_ABI_VERSION; }

// A literal inside the library, so it ends in a zero.
const char* lacuna_version(void) { return lacuna::version().data(); }

const char* lacuna_last_error(void) { return lacuna::capi::last_error().c_str(); }

void lacuna_string_free(char* text) { std::free(text); }
