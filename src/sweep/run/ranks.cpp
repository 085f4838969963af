#include "sweep/run/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <thread>

#include "base/error.hpp"
#include "sweep/run/chunk_pool.hpp"
#include "sweep/run/messages.hpp"
#include "sweep/run/mpi/transport.h"

namespace lacuna::sweep {
namespace {

// Kinds of messages. Workers: hello with a fingerprint, a result, the end. Rank 0: a chunk, nothing left.
constexpr char kHello = 'h', kResult = 'r', kBye = 'b', kChunk = 'c', kNoMore = 'n';

bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

// Next to the program in a build folder, below lib/lacuna where it is installed.
std::vector<std::string> module_paths() {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {(folder / "liblacuna_mpi.so").string(), (folder / "../lib/lacuna/liblacuna_mpi.so").string()};
}

}  // namespace

std::unique_ptr<Ranks> Ranks::open() {
  if (!started_by_mpi()) return nullptr;
  void* module = nullptr;
  for (const std::string& place : module_paths()) {
    // The plugins that MPI loads look for its symbols.
    if (module == nullptr && std::filesystem::exists(place))
      module = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  const auto open_transport =
      module == nullptr ? nullptr
                        : reinterpret_cast<LacunaOpenTransport>(::dlsym(module, LACUNA_TRANSPORT_SYMBOL));
  const LacunaTransport* transport = open_transport == nullptr ? nullptr : open_transport();
  if (transport == nullptr) {
    throw InputError("lacuna sweep",
                     "started by mpirun or srun, but this program has no module for MPI that works here",
                     "install libopenmpi-dev and build it again, or start it without mpirun");
  }
  return std::unique_ptr<Ranks>(new Ranks(transport));
}

Ranks::Ranks(const LacunaTransport* transport)
    : transport_(transport),
      waiting_(static_cast<std::size_t>(transport->size), 0),
      running_(transport->size - 1) {}

// Every rank announces its end, whatever happened, so that none waits for one that is gone.
Ranks::~Ranks() {
  if (rank() == 0) {
    dismiss();
  } else {
    send(0, kBye, excuse_);
  }
  transport_->finish();
}

int Ranks::rank() const { return transport_->rank; }
int Ranks::size() const { return transport_->size; }

void Ranks::send(int to, char kind, const std::string& bytes) const {
  const std::string message = kind + bytes;
  transport_->send(to, message.data(), message.size());
}

std::optional<Ranks::Message> Ranks::receive() const {
  Message message;
  std::size_t count = 0;
  const char* bytes = static_cast<const char*>(transport_->receive(&message.from, &count));
  if (bytes == nullptr) return std::nullopt;
  message.kind = bytes[0];
  message.bytes.assign(bytes + 1, count - 1);
  return message;
}

void Ranks::dismiss() {
  for (int other = 1; other < size(); ++other) send(other, kNoMore, "");
  // Results that still arrive are dropped, but the ranks cannot end before they are received.
  while (running_ > 0) {
    const auto message = receive();
    if (message && message->kind == kBye) --running_;
    if (!message) std::this_thread::sleep_for(ChunkPool::kPoll);
  }
}

bool Ranks::give(const Chunk& chunk) {
  const auto rank = std::ranges::find_if(waiting_, [](int chunks) { return chunks > 0; });
  if (rank == waiting_.end()) return false;
  send(static_cast<int>(rank - waiting_.begin()), kChunk, to_bytes(chunk));
  --*rank;
  ++working_;
  return true;
}

void Ranks::collect(const Sweep& sweep, std::vector<ChunkResult>& results, std::vector<std::string>& notes) {
  while (const auto message = receive()) {
    int& waiting = waiting_[static_cast<std::size_t>(message->from)];
    if (message->kind == kBye) {
      --running_;
      if (message->bytes.empty()) continue;
      notes.push_back(fmt::format("rank {} could not help: {}", message->from, message->bytes));
    } else if (message->kind == kHello) {
      const std::string expected = fingerprint(sweep);
      if (!message->bytes.starts_with(expected)) {
        throw InputError(sweep.plan.file,
                         fmt::format("rank {} sees other traces or another plan", message->from),
                         "every machine must read the same files");
      }
      waiting = std::stoi(message->bytes.substr(expected.size()));
    } else {
      results.push_back(result_from(message->bytes));
      --working_;
      ++waiting;
    }
  }
}

void Ranks::compute(Sweep& sweep, int threads) {
  ChunkRunner runner(sweep, {});
  ChunkPool pool(runner, threads);
  send(0, kHello, fingerprint(sweep) + std::to_string(threads + ChunkPool::kAhead));
  int working = 0;
  for (bool more = true; more || working > 0;) {
    while (const auto message = receive()) {
      if (message->kind == kNoMore) {
        more = false;
      } else {
        pool.put(chunk_from(message->bytes));
        ++working;
      }
    }
    for (const ChunkResult& result : pool.take(ChunkPool::kPoll)) {
      send(0, kResult, to_bytes(result));
      --working;
    }
  }
}

}  // namespace lacuna::sweep
