#include "sweep/run/wire.hpp"

#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "base/sha256.hpp"

namespace lacuna::sweep {
namespace {

// One function per record visits its members, for writing and for reading.
class Writer {
 public:
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void operator()(const Number& number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes += text;
  }
  template <typename Value>
  void operator()(const std::optional<Value>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <typename Value>
  void operator()(const std::vector<Value>& values) {
    (*this)(values.size());
    for (const Value& value : values) (*this)(value);
  }
  template <typename Record>
  requires std::is_class_v<Record>
  void operator()(const Record& record) { visit(record, *this); }
  std::string bytes;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void operator()(Number& number) { std::memcpy(&number, take(sizeof(number)), sizeof(number)); }
  void operator()(std::string& text) {
    const std::size_t size = count();
    text.assign(take(size), size);
  }
  template <typename Value>
  void operator()(std::optional<Value>& value) {
    bool there = false;
    (*this)(there);
    if (there) (*this)(value.emplace());
  }
  template <typename Value>
  void operator()(std::vector<Value>& values) {
    values.resize(count());
    for (Value& value : values) (*this)(value);
  }
  template <typename Record>
  requires std::is_class_v<Record>
  void operator()(Record& record) { visit(record, *this); }

 private:
  const char* take(std::size_t size) {
    if (size > bytes_.size()) throw std::logic_error("a message between processes is cut off");
    const char* at = bytes_.data();
    bytes_.remove_prefix(size);
    return at;
  }
  std::size_t count() {
    std::size_t size = 0;
    (*this)(size);
    if (size > bytes_.size()) throw std::logic_error("a message between processes is cut off");
    return size;
  }
  std::string_view bytes_;
};

template <typename Record, typename Like>
concept Same = std::is_same_v<std::remove_const_t<Record>, Like>;

template <Same<Chunk> Record, typename Use>
void visit(Record& chunk, Use& use) {
  use(chunk.trace);
  use(chunk.designs);
}
template <Same<Choice> Record, typename Use>
void visit(Record& choice, Use& use) {
  use(choice.machine);
  use(choice.values);
}
template <Same<LayerRecord> Record, typename Use>
void visit(Record& layer, Use& use) {
  use(layer.name);
  use(layer.shape);
  use(layer.batch_scale);
  use(layer.macs);
}
template <Same<TraceRecord> Record, typename Use>
void visit(Record& trace, Use& use) {
  use(trace.sha256);
  use(trace.name);
  use(trace.network);
  use(trace.origin);
  use(trace.progress);
  use(trace.batch);
  use(trace.layers);
}
template <Same<OperationRecord> Record, typename Use>
void visit(Record& op, Use& use) {
  use(op.layer);
  use(op.operation);
  use(op.scheduled_macs);
  use(op.effectual_macs);
  use(op.cycles);
  use(op.baseline_cycles);
  use(op.cycles_without_zeros);
  use(op.energy_joules);
  use(op.baseline_energy_joules);
  use(op.bound);
  use(op.dram_bytes);
}
template <Same<PointRecord> Record, typename Use>
void visit(Record& point, Use& use) {
  use(point.key);
  use(point.design);
  use(point.trace);
  use(point.measured);
  use(point.cycles);
  use(point.baseline_cycles);
  use(point.cycles_without_zeros);
  use(point.seconds);
  use(point.baseline_seconds);
  use(point.energy_joules);
  use(point.baseline_energy_joules);
  use(point.compute_energy_joules);
  use(point.baseline_compute_energy_joules);
  use(point.dram_read_bytes);
  use(point.dram_write_bytes);
  use(point.compute_cycles);
  use(point.operations);
  use(point.took_seconds);
}
template <Same<FailureRecord> Record, typename Use>
void visit(Record& failure, Use& use) {
  use(failure.key);
  use(failure.machine);
  use(failure.parameters);
  use(failure.trace);
  use(failure.error);
}
template <Same<ChunkRunner::Result> Record, typename Use>
void visit(Record& result, Use& use) {
  use(result.traces);
  use(result.computed.points);
  use(result.computed.failures);
}

template <typename Record>
std::string write(const Record& record) {
  Writer writer;
  writer(record);
  return std::move(writer.bytes);
}

template <typename Record>
Record read(std::string_view bytes) {
  Record record;
  WireReader reader(bytes);
  reader(record);
  return record;
}

}  // namespace

std::string to_bytes(const Chunk& chunk) { return write(chunk); }
Chunk chunk_from(std::string_view bytes) { return read<Chunk>(bytes); }
std::string to_bytes(const ChunkRunner::Result& result) { return write(result); }
ChunkRunner::Result result_from(std::string_view bytes) { return read<ChunkRunner::Result>(bytes); }

std::string fingerprint(const Sweep& sweep) {
  Sha256 sum;
  const auto add = [&](const std::string& text) {
    sum.add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  add(sweep.plan.text);
  for (const std::string& trace : sweep.sha256) add(trace);
  return sum.hex();
}

}  // namespace lacuna::sweep
