#include "sim/tile/sized_memory.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "base/text/quote.hpp"
#include "sim/workload/reference.hpp"
#include "sim/workload/schedule_policy.hpp"

namespace lacuna {
namespace {

constexpr std::int64_t kLargestKb = 1 << 24;  // 16 GB per tile

// "batch", "auto" or a number.
std::optional<std::int64_t> parse_samples(const std::string& text, std::int64_t batch, std::int64_t best) {
  if (text == "batch") return batch;
  if (text == "auto") return best;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

enum Memory : std::size_t { kBm, kAm, kCm };  // of row operand, column operand, result

// A tensor of the batch. One that the next layer takes over has one number in both.
struct Tensor {
  std::int64_t bytes = 0;      // on the chip, of a part of the batch
  std::int64_t bus_bytes = 0;  // likewise
  bool once = false;           // a weight or its gradient: the same for every part
};

struct Step {
  std::size_t layer;
  Operation op;
  bool rows_first;                     // the row operand is the primary one
  std::array<std::size_t, 3> tensors;  // by Memory
};

// Last use of a tensor, which decides the memory that it is in.
struct LastUse {
  std::size_t step;
  Memory memory;
};

// The operations of one part of the batch in their order, and the tensors they use.
class Walk {
 public:
  Walk(const Trace& trace, const PerOperation<bool>& operations, const TilePlan& tiles, const Dram& dram,
       std::int64_t parts)
      : trace_(trace), operations_(operations), tiles_(tiles), dram_(dram), parts_(parts) {
    const std::size_t layers = trace.layers().size();
    a_.resize(layers, kNone);
    g_.resize(layers, kNone);
    for (std::size_t i = 0; i < layers; ++i) add_layer(i);
    for (std::size_t i = 0; i < layers; ++i) add_step(i, Operation::kForward);
    for (std::size_t i = layers; i-- > 0;) {
      add_step(i, Operation::kInputGrad);
      add_step(i, Operation::kWeightGrad);
    }
    for (auto& sums : passed_) sums.assign(steps.size() + 1, 0);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      for (const Memory memory : {kBm, kAm, kCm})
        passed_[memory][s + 1] = passed_[memory][s] + tensors[steps[s].tensors[memory]].bytes;
    }
  }

  std::vector<Tensor> tensors;
  std::vector<Step> steps;

  // Bytes that a memory must hold for a tensor to be in it still at step `to`: the tensor, and all that
  // passed through since its use at `from` (of the part before, if that was not earlier in this one).
  std::int64_t needed(std::size_t tensor, LastUse from, std::size_t to) const {
    const std::vector<std::int64_t>& sums = passed_[from.memory];
    std::int64_t bytes = from.step < to ? sums[to + 1] - sums[from.step + 1]
                                        : sums.back() - sums[from.step + 1] + sums[to + 1];
    if (steps[to].tensors[from.memory] != tensor) bytes += tensors[tensor].bytes;
    return bytes;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t add(std::int64_t elements, std::int64_t nonzeros, double scale, bool once) {
    const auto whole = [&](std::int64_t count) {
      return once ? count : static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * scale));
    };
    const std::int64_t parts = once ? 1 : parts_;
    tensors.push_back({.bytes = ceil_div(whole(elements) * dram_.value_bytes(), parts),
                       .bus_bytes = ceil_div(whole(dram_.read(elements, nonzeros).dram_read_bytes), parts),
                       .once = once});
    return tensors.size() - 1;
  }

  // ASSUMPTION(A32): a layer takes over what the one before it in the trace made if it is as large; functions
  // between them are applied on the way.
  bool follows(std::size_t layer) const {
    if (layer == 0) return false;
    const Layer &before = trace_.layers()[layer - 1], &own = trace_.layers()[layer];
    return static_cast<double>(before.g.elements()) * trace_.batch_scale(before) ==
           static_cast<double>(own.a.elements()) * trace_.batch_scale(own);
  }

  void add_layer(std::size_t i) {
    const Layer& layer = trace_.layers()[i];
    const double scale = trace_.batch_scale(layer);
    const LayerTensor& a = layer.a_forward ? *layer.a_forward : layer.a;
    a_[i] = follows(i) ? output_[i - 1] : add(a.elements(), a.nonzeros, scale, false);
    // A sparser A of weight_grad is another tensor.
    a_of_weight_grad_.push_back(layer.a_forward ? add(layer.a.elements(), layer.a.nonzeros, scale, false)
                                                : a_[i]);
    const bool weights = layer.shape.once_per_batch(Operand::kW);
    w_.push_back(add(layer.w.elements(), layer.w.nonzeros, scale, weights));
    // The output has the zeros of G (A15).
    output_.push_back(add(layer.g.elements(), layer.g.nonzeros, scale, false));
    g_[i] = add(layer.g.elements(), layer.g.nonzeros, scale, false);
    // The gradient of the input is G of the layer before, where it is passed on.
    input_grad_.push_back(follows(i) ? g_[i - 1] : add(a.elements(), a.nonzeros, scale, false));
    weight_grad_.push_back(
        add(layer.w.elements(), result_nonzeros(layer, Operation::kWeightGrad), scale, weights));
  }

  void add_step(std::size_t i, Operation op) {
    if (!trace_.runs(i, op) || !operations_[op]) return;
    const Operand rows = row_operand(trace_.layers()[i].as_multiplied(op), op, tiles_);
    const auto [primary, secondary] = operands(op);
    const auto tensor = [&](Operand role) {
      if (role == Operand::kA) return op == Operation::kWeightGrad ? a_of_weight_grad_[i] : a_[i];
      return role == Operand::kW ? w_[i] : g_[i];
    };
    const std::size_t output = op == Operation::kForward     ? output_[i]
                               : op == Operation::kInputGrad ? input_grad_[i]
                                                             : weight_grad_[i];
    const bool rows_first = rows == primary;
    steps.push_back({i, op, rows_first, {tensor(rows), tensor(rows_first ? secondary : primary), output}});
  }

  const Trace& trace_;
  const PerOperation<bool>& operations_;
  const TilePlan& tiles_;
  const Dram& dram_;
  std::int64_t parts_;
  std::vector<std::size_t> a_, a_of_weight_grad_, w_, g_, output_, input_grad_,
      weight_grad_;                                  // of each layer
  std::array<std::vector<std::int64_t>, 3> passed_;  // bytes through each memory before each step
};

}  // namespace

std::vector<ParamSpec> SizedMemory::params() {
  const std::string table2 = "TensorDash Table 2; docs/assumptions.md A32";
  const auto size = [&](const char* name, const char* what) {
    return ParamSpec::integer(
        name, 0, 0, kLargestKb, "KB",
        fmt::format("size of {} per tile, for DRAM traffic; 0: what its banks hold (Table 2: 1,024 "
                    "KB of FP32). Setting it implies sized_memory",
                    what),
        table2);
  };
  return {
      ParamSpec::flag(
          "sized_memory", false,
          "tensors that do not fit AM, BM and CM are fetched again, and those that fit stay from one "
          "operation to the next; off: each crosses the DRAM bus once per operation",
          "docs/assumptions.md A14, A32"),
      size("am_kb", "AM (the dense side)"),
      size("bm_kb", "BM (the scheduled side)"),
      size("cm_kb", "CM (results)"),
      ParamSpec::choice(
          "loop_order", "auto", {"auto", "rows", "columns", "outputs"},
          "with sized_memory, the tensor that stays in its memory block by block while the others pass: "
          "the row operand, the column operand, the result, or the best of them for each operation",
          "docs/assumptions.md A32"),
      ParamSpec::text(
          "samples_at_once", "batch",
          "with sized_memory, samples that go through all operations before the next ones do: batch, a "
          "number, or auto for the part of the batch that moves the fewest bytes",
          "docs/assumptions.md A32"),
  };
}

SizedMemory::SizedMemory(const Params& params, std::int64_t bank_bytes, std::int64_t tiles)
    : used_(params.flag("sized_memory")), bank_bytes_(bank_bytes) {
  const auto bytes = [&](const char* name) {
    const std::int64_t kb = params.integer(name);
    used_ = used_ || kb > 0;
    return kb == 0 ? bank_bytes_ : kb * 1024 * tiles;
  };
  am_ = bytes("am_kb");
  bm_ = bytes("bm_kb");
  cm_ = bytes("cm_kb");
  const std::string& order = params.text("loop_order");
  order_ = order == "auto"      ? LoopOrder::kAuto
           : order == "rows"    ? LoopOrder::kRows
           : order == "columns" ? LoopOrder::kColumns
                                : LoopOrder::kOutputs;
  const auto samples = parse_samples(params.text("samples_at_once"), kWholeBatch, kBestPart);
  if (!samples) {
    throw InputError(params.owner(),
                     fmt::format("samples_at_once is {}", quote_name(params.text("samples_at_once"))),
                     "write batch, auto or a number from 1");
  }
  samples_ = *samples;
}

OperandPasses SizedMemory::passes(const OperationBytes& bytes) const {
  const auto blocks = [](std::int64_t size, std::int64_t memory) {
    return std::max<std::int64_t>(1, ceil_div(size, memory));
  };
  std::vector<OperandPasses> orders;
  if (order_ == LoopOrder::kAuto || order_ == LoopOrder::kRows)
    orders.push_back({1, blocks(bytes.rows, bm_)});
  if (order_ == LoopOrder::kAuto || order_ == LoopOrder::kColumns)
    orders.push_back({blocks(bytes.columns, am_), 1});
  if (order_ == LoopOrder::kAuto || order_ == LoopOrder::kOutputs) {
    // The result in a x b blocks: the row operand passes once for each of the b, the column operand for each
    // of the a. Only those b matter at which a = ceil(all / b) changes: some 2 sqrt(all).
    const std::int64_t all = blocks(bytes.output, cm_);
    for (std::int64_t b = all; b >= 1; --b) {
      const std::int64_t a = ceil_div(all, b);
      b = ceil_div(all, a);
      orders.push_back({b, a});
    }
  }
  const auto cost = [&](const OperandPasses& p) {
    return static_cast<double>(p.rows) * static_cast<double>(bytes.rows_bus) +
           static_cast<double>(p.columns) * static_cast<double>(bytes.columns_bus);
  };
  return *std::ranges::min_element(orders, {}, cost);
}

SizedMemory::Plan SizedMemory::plan_parts(const Trace& trace, const PerOperation<bool>& operations,
                                          const TilePlan& tiles, const Dram& dram, std::int64_t parts) const {
  const Walk walk(trace, operations, tiles, dram, parts);
  const std::array<std::int64_t, 3> sizes{bm_, am_, cm_};
  Plan plan;
  plan.passes.resize(trace.layers().size());
  std::vector<std::optional<LastUse>> last(walk.tensors.size()), last_of_part(walk.tensors.size());
  for (std::size_t s = 0; s < walk.steps.size(); ++s) {
    for (const Memory memory : {kBm, kAm, kCm})
      last_of_part[walk.steps[s].tensors[memory]] = LastUse{s, memory};
  }
  std::vector<bool> fetched(walk.tensors.size(), false);  // some use did not find it on the chip
  for (std::size_t s = 0; s < walk.steps.size(); ++s) {
    const Step& step = walk.steps[s];
    OperationBytes bytes{walk.tensors[step.tensors[kBm]].bytes, walk.tensors[step.tensors[kAm]].bytes,
                         walk.tensors[step.tensors[kCm]].bytes};
    enum class From { kChip, kPartBefore, kDram };
    const auto source = [&](Memory memory) {
      const std::size_t tensor = step.tensors[memory];
      const bool earlier = last[tensor].has_value();
      // Only weights outlive a part of the batch.
      if (!earlier && (parts == 1 || !walk.tensors[tensor].once)) return From::kDram;
      const LastUse from = earlier ? *last[tensor] : *last_of_part[tensor];
      if (walk.needed(tensor, from, s) > sizes[from.memory]) return From::kDram;
      return earlier ? From::kChip : From::kPartBefore;
    };
    const From rows = source(kBm), columns = source(kAm);
    bytes.rows_bus = rows == From::kDram ? walk.tensors[step.tensors[kBm]].bus_bytes : 0;
    bytes.columns_bus = columns == From::kDram ? walk.tensors[step.tensors[kAm]].bus_bytes : 0;
    const OperandPasses once = passes(bytes);
    // In a batch: weights as often as there are parts, unless the part before left them.
    const auto in_batch = [&](Memory memory, From from, std::int64_t per_part) -> std::int64_t {
      const Tensor& tensor = walk.tensors[step.tensors[memory]];
      if (from == From::kChip) return 0;
      fetched[step.tensors[memory]] = true;
      if (from == From::kPartBefore) return 1;
      return tensor.once ? per_part * parts : per_part;
    };
    const std::int64_t row_passes = in_batch(kBm, rows, once.rows);
    const std::int64_t column_passes = in_batch(kAm, columns, once.columns);
    TensorPasses& result = plan.passes[step.layer][step.op];
    result.primary = step.rows_first ? row_passes : column_passes;
    result.secondary = step.rows_first ? column_passes : row_passes;
    if (trace.layers()[step.layer].shape.once_per_batch(step.op) && parts > 1) {
      // Sums of the parts before: on the chip, or put aside.
      const bool stays = walk.needed(step.tensors[kCm], {s, kCm}, s) <= cm_;
      result.output_writes = stays ? 1 : parts;
      result.output_reads = stays ? 0 : parts - 1;
    }
    for (const Memory memory : {kBm, kAm, kCm}) last[step.tensors[memory]] = LastUse{s, memory};
  }
  for (std::size_t s = 0; s < walk.steps.size(); ++s) {
    const Step& step = walk.steps[s];
    TensorPasses& result = plan.passes[step.layer][step.op];
    const std::size_t output = step.tensors[kCm];
    // A tensor that is used again and always found on the chip need not be written.
    const bool used_again = last_of_part[output]->step > s;
    if (step.op != Operation::kWeightGrad && used_again && !fetched[output]) result.output_writes = 0;
    const auto bus = [&](Memory memory, std::int64_t count) {
      const Tensor& tensor = walk.tensors[step.tensors[memory]];
      return count * tensor.bus_bytes * (tensor.once ? 1 : parts);
    };
    plan.bus_bytes += bus(kBm, step.rows_first ? result.primary : result.secondary) +
                      bus(kAm, step.rows_first ? result.secondary : result.primary) +
                      bus(kCm, result.output_writes + result.output_reads);
  }
  return plan;
}

std::vector<LayerPasses> SizedMemory::plan(const Trace& trace, const PerOperation<bool>& operations,
                                           const TilePlan& tiles, const Dram& dram) const {
  const std::int64_t batch = trace.batch();
  if (samples_ != kBestPart) {
    const std::int64_t at_once = samples_ == kWholeBatch ? batch : std::min(samples_, batch);
    return plan_parts(trace, operations, tiles, dram, ceil_div(batch, at_once)).passes;
  }
  Plan best = plan_parts(trace, operations, tiles, dram, 1);
  for (std::int64_t parts = 2; parts < 2 * batch; parts *= 2) {
    Plan other = plan_parts(trace, operations, tiles, dram, std::min(parts, batch));
    if (other.bus_bytes < best.bus_bytes) best = std::move(other);
  }
  return best.passes;
}

}  // namespace lacuna
