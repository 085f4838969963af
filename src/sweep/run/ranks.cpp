#include "sweep/run/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "base/io/sha256/sha256.hpp"
#include "sweep/run/chunk_pool.hpp"
#include "sweep/run/mpi/transport.h"

// Records travel as arrays of their columns (kColumns); lists of records follow them.
namespace nlohmann {

template <typename Value>
struct adl_serializer<std::optional<Value>> {
  static void to_json(json& to, const std::optional<Value>& value) {
    if (value) to = *value;
  }
  static void from_json(const json& from, std::optional<Value>& value) {
    if (!from.is_null()) value = from.get<Value>();
  }
};

template <>
struct adl_serializer<lacuna::sweep::Cell> {
  static void to_json(json& to, const lacuna::sweep::Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) to = *text;
    if (const auto* count = std::get_if<std::int64_t>(&cell)) to = *count;
    if (const auto* number = std::get_if<double>(&cell)) to = *number;
  }
  static void from_json(const json& from, lacuna::sweep::Cell& cell) {
    if (from.is_string()) cell = from.get<std::string>();
    if (from.is_number_integer()) cell = from.get<std::int64_t>();
    if (from.is_number_float()) cell = from.get<double>();
  }
};

}  // namespace nlohmann

namespace lacuna::sweep {
namespace {

using nlohmann::json;

template <typename Record>
concept HasColumns = std::tuple_size_v<std::remove_const_t<decltype(kColumns<Record>)>>
!= 0;

}  // namespace

template <HasColumns Record>
void to_json(json& row, const Record& record) {
  each_column(record, [&](const auto&, const auto& value) { row.push_back(value); });
  if constexpr (requires { record.layers; }) row.push_back(record.layers);
}
template <HasColumns Record>
void from_json(const json& row, Record& record) {
  std::size_t at = 0;
  each_column(record, [&](const auto&, auto& value) { row.at(at++).get_to(value); });
  if constexpr (requires { record.layers; }) row.at(at).get_to(record.layers);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Choice, machine, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Chunk, trace, designs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OperationRecord, layer, operation, results)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PointRecord, key, design, trace, measured, took_seconds, results,
                                   operations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ChunkResult, traces, points, failures)

namespace {

// Chunks and results as MessagePack, for processes of the same program.
template <typename Record>
std::string packed(const Record& record) {
  std::string bytes;
  json::to_msgpack(record, bytes);
  return bytes;
}

// Equal if two processes see the same plan and traces.
std::string fingerprint(const Sweep& sweep) {
  return sha256_hex(sweep.plan.text + fmt::format("{}", fmt::join(sweep.sha256, "")));
}

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
  send(static_cast<int>(rank - waiting_.begin()), kChunk, packed(chunk));
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
      results.push_back(json::from_msgpack(message->bytes).get<ChunkResult>());
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
        pool.put(json::from_msgpack(message->bytes).get<Chunk>());
        ++working;
      }
    }
    for (const ChunkResult& result : pool.take(ChunkPool::kPoll)) {
      send(0, kResult, packed(result));
      --working;
    }
  }
}

}  // namespace lacuna::sweep
