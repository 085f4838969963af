#include "sweep/run/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "sweep/run/mpi/transport.h"
#include "sweep/run/wire.hpp"

namespace lacuna::sweep {
namespace {

// Kinds of messages. Workers: hello with a fingerprint, a result, the end. Rank 0: a chunk, nothing left.
constexpr char kHello = 'h', kResult = 'r', kBye = 'b', kChunk = 'c', kNoMore = 'n';

// Between two looks for messages: short beside a chunk, and the main threads take no core.
constexpr auto kPoll = std::chrono::milliseconds(2);
constexpr double kSecondsBetweenTransactions = 0.25;
// Chunks that wait at a rank beside those that its threads work on, so that none waits for a message.
constexpr int kAhead = 1;

// Threads that take chunks from a queue and put results into another. The owner alone talks to other
// processes.
class Pool {
 public:
  Pool(ChunkRunner& runner, int threads) {
    for (int i = 0; i < std::max(1, threads); ++i) {
      threads_.emplace_back([this, &runner](const std::stop_token& stop) {
        for (;;) {
          std::unique_lock lock(mutex_);
          if (!changed_.wait(lock, stop, [&] { return !chunks_.empty(); })) return;
          const Chunk chunk = std::move(chunks_.front());
          chunks_.pop_front();
          lock.unlock();
          ChunkRunner::Result result = runner.run(chunk);
          lock.lock();
          results_.push_back(std::move(result));
        }
      });
    }
  }
  ~Pool() {
    const std::scoped_lock lock(mutex_);
    chunks_.clear();
    for (std::jthread& thread : threads_) thread.request_stop();
  }

  void put(Chunk chunk) {
    const std::scoped_lock lock(mutex_);
    chunks_.push_back(std::move(chunk));
    changed_.notify_one();
  }
  std::vector<ChunkRunner::Result> take() {
    const std::scoped_lock lock(mutex_);
    std::vector<ChunkRunner::Result> taken;
    taken.swap(results_);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Chunk> chunks_;
  std::vector<ChunkRunner::Result> results_;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

// Beside the program in a build folder, below lib/lacuna where it is installed.
std::vector<std::string> module_places() {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {(folder / "liblacuna_mpi.so").string(), (folder / "../lib/lacuna/liblacuna_mpi.so").string()};
}

}  // namespace

std::unique_ptr<Ranks> Ranks::open() {
  if (!started_by_mpi()) return nullptr;
  void* module = nullptr;
  for (const std::string& place : module_places()) {
    // MPI loads plugins of its own, which look for its symbols.
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
      away_(transport->size - 1) {}

// Whatever happened, everybody says goodbye, so that nobody waits for somebody who is gone.
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
  // What they still send is lost, but must be received, or they could not end.
  while (away_ > 0) {
    const auto message = receive();
    if (message && message->kind == kBye) --away_;
    if (!message) std::this_thread::sleep_for(kPoll);
  }
}

SweepOutcome Ranks::deal(Sweep& sweep, const WorkList& work, Database& database, const RunOptions& options) {
  const std::string expected = fingerprint(sweep);
  ResultWriter writer(database, work.points);
  ChunkRunner runner(sweep, {});
  Pool pool(runner, options.threads);
  std::size_t next = 0;
  bool stopped = false;
  int at_home = 0;  // chunks that its own threads have
  int others = 0;   // chunks that other ranks have
  std::vector<ChunkRunner::Result> results;
  double written = seconds_now();
  const auto more = [&] { return !stopped && next < work.chunks.size(); };

  while (true) {
    bool idle = true;
    // Its own threads.
    for (ChunkRunner::Result& result : pool.take()) {
      results.push_back(std::move(result));
      --at_home;
      idle = false;
    }
    for (; more() && at_home < options.threads + kAhead; ++at_home) pool.put(work.chunks[next++]);
    // The others.
    while (const auto message = receive()) {
      idle = false;
      if (message->kind == kBye) {
        --away_;
        if (!message->bytes.empty()) {
          writer.outcome().notes.push_back(
              fmt::format("rank {} could not help: {}", message->from, message->bytes));
        }
      } else if (message->kind == kHello) {
        if (message->bytes.substr(0, expected.size()) != expected) {
          throw InputError(sweep.plan.file,
                           fmt::format("rank {} sees other traces or another plan", message->from),
                           "every machine must read the same files");
        }
        waiting_[static_cast<std::size_t>(message->from)] = std::stoi(message->bytes.substr(expected.size()));
      } else {
        results.push_back(result_from(message->bytes));
        --others;
        ++waiting_[static_cast<std::size_t>(message->from)];
      }
    }
    for (int rank = 1; rank < size(); ++rank) {
      int& wants = waiting_[static_cast<std::size_t>(rank)];
      for (; wants > 0 && more(); --wants, ++others) send(rank, kChunk, to_bytes(work.chunks[next++]));
    }
    if (options.stop && options.stop()) stopped = true;
    const bool ended = !more() && at_home == 0 && others == 0;
    if (!results.empty() && (ended || seconds_now() - written > kSecondsBetweenTransactions)) {
      writer.write(std::move(results));
      results.clear();
      written = seconds_now();
      if (options.report) options.report(writer.outcome().progress);
    }
    if (ended) break;
    if (idle) std::this_thread::sleep_for(kPoll);
  }
  SweepOutcome outcome = std::move(writer.outcome());
  outcome.stopped = outcome.progress.done + outcome.progress.failed < outcome.progress.all;
  return outcome;
}

void Ranks::compute(Sweep& sweep, int threads) {
  ChunkRunner runner(sweep, {});
  Pool pool(runner, threads);
  send(0, kHello, fingerprint(sweep) + std::to_string(threads + kAhead));
  int working = 0;
  for (bool more = true; more || working > 0;) {
    bool idle = true;
    while (const auto message = receive()) {
      idle = false;
      if (message->kind == kNoMore) {
        more = false;
      } else {
        pool.put(chunk_from(message->bytes));
        ++working;
      }
    }
    for (const ChunkRunner::Result& result : pool.take()) {
      send(0, kResult, to_bytes(result));
      --working;
      idle = false;
    }
    if (idle) std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace lacuna::sweep
