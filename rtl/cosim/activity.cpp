// Prints, as JSON, what the wires between the modules of the first row of a tile carry, clock by clock. A
// recorded operation runs through the RTL of the front end. The trace holds masks, so non-zeros get values
// that are about normally distributed, as those of trained networks are.
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "Vfe_paper.h"
#include "base/random.hpp"
#include "bits.hpp"
#include "clocking.hpp"
#include "layer_reference.hpp"
#include "top.hpp"

namespace lacuna::rtl {
namespace {

constexpr int kLanes = 16, kDepth = 3, kRows = 4, kWidth = 32;
constexpr int kRtlWidth =
    16;  // the front end decides on the upper halves of the values; they are zero together

using Bits = std::vector<bool>;

template <typename Port>
Bits bits_of(const Port& port, std::size_t low, std::size_t count) {
  Bits bits(count);
  for (std::size_t i = 0; i < count; ++i) bits[i] = get_bits(port, low + i, 1) != 0;
  return bits;
}

Bits bits_of_words(const std::vector<std::uint32_t>& words) {
  Bits bits;
  for (const std::uint32_t word : words) {
    for (int i = 0; i < kWidth; ++i) bits.push_back((word >> i & 1U) != 0);
  }
  return bits;
}

// Records the wires of each instance of a module: one word per clock, in hexadecimal.
class Recorder {
 public:
  void sample(const std::string& use, const std::string& port, const Bits& bits) {
    std::string word;
    for (std::size_t low = (bits.size() - 1) / 4 * 4 + 4; low > 0; low -= 4) {
      unsigned digit = 0;
      for (std::size_t i = low - 4; i < std::min(low, bits.size()); ++i)
        digit |= (bits[i] ? 1U : 0U) << (i % 4);
      word += "0123456789abcdef"[digit];
    }
    uses_[use][port].push_back(std::move(word));
  }
  std::string json() const {
    std::string out;
    for (const auto& [use, ports] : uses_) {
      out += fmt::format("{}\n  \"{}\": {{", out.empty() ? "" : ",", use);
      std::string inner;
      for (const auto& [port, words] : ports)
        inner +=
            fmt::format("{}\n   \"{}\": [\"{}\"]", inner.empty() ? "" : ",", port, fmt::join(words, "\",\""));
      out += inner + "}";
    }
    return out;
  }

 private:
  std::map<std::string, std::map<std::string, std::vector<std::string>>> uses_;
};

// About normal, never zero; keeps the sign.
std::uint32_t drawn(std::uint32_t value, Random& random) {
  if ((value & 0x7fffffffU) == 0) return value;
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  const auto number = static_cast<float>(std::abs(sum - 6) + 1e-6);
  return (value & 0x80000000U) | std::bit_cast<std::uint32_t>(number);
}

struct Streams {
  StreamGroup b, a;  // kRows rows; one column
};

// Row groups of two rows each, side by side, with the first column of a column group.
std::vector<Streams> streams_of(const RecordedOperation& op, std::int64_t steps, Random& random) {
  std::vector<Streams> all;
  for (const RecordedProduct& product : op.products) {
    for (std::size_t i = 0; i + 1 < product.row_groups.size(); i += 2) {
      const StreamGroup &low = product.row_groups[i], &high = product.row_groups[i + 1];
      const StreamGroup& column = product.column_groups[i / 2 % product.column_groups.size()];
      Streams made{{kRows, low.steps, kLanes, low.values}, {1, low.steps, kLanes, {}}};
      made.b.values.insert(made.b.values.end(), high.values.begin(), high.values.end());
      made.a.values.assign(column.values.begin(), column.values.begin() + low.steps * kLanes);
      for (std::uint32_t& value : made.b.values) value = drawn(value, random);
      for (std::uint32_t& value : made.a.values) value = drawn(value, random);
      all.push_back(std::move(made));
      if ((steps -= low.steps) < 0) return all;
    }
  }
  return all;
}

std::vector<std::uint32_t> row_of(const StreamGroup& group, int row, int step) {
  std::vector<std::uint32_t> words;
  for (int lane = 0; lane < kLanes; ++lane) words.push_back(group.value(row, step, lane));
  return words;
}

// td_staging.
std::vector<std::uint32_t> moved(const std::vector<std::uint32_t>& staged,
                                 const std::vector<std::uint32_t>& offered, int advance, unsigned load) {
  std::vector<std::uint32_t> next(staged.size(), 0);
  for (int s = 0; s < kDepth; ++s) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int from = s + advance;
      const auto place = static_cast<std::size_t>(s * kLanes + lane);
      if (from < kDepth)
        next[place] = staged[static_cast<std::size_t>(from * kLanes + lane)];
      else if ((load >> (from - kDepth) & 1U) != 0)
        next[place] = offered[static_cast<std::size_t>((from - kDepth) * kLanes + lane)];
    }
  }
  return next;
}

// Runs the streams; returns the clocks.
std::int64_t record(const std::vector<Streams>& all, const ConnectivityInfo& info, Recorder& recorder) {
  OwnedTop<Vfe_paper> top;
  reset_frontend(*top);
  std::vector<std::uint32_t> a_staged(kDepth * kLanes, 0), b_staged(kDepth * kLanes, 0);
  std::size_t stream = 0;
  int step = 0;
  std::int64_t clocks = 0;
  for (; stream < all.size() || top->issue_o != 0; ++clocks) {
    // The next rows of both operands.
    std::vector<std::uint32_t> a_offered(kDepth * kLanes, 0), b_offered(kDepth * kLanes, 0);
    top->offer_valid_i = top->offer_last_i = 0;
    std::size_t at = stream;
    int row = step;
    for (int s = 0; s < kDepth && at < all.size(); ++s) {
      set_bits(top->offer_valid_i, static_cast<std::size_t>(s), 1, 1);
      set_bits(top->offer_last_i, static_cast<std::size_t>(s), 1, row + 1 == all[at].b.steps);
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int r = 0; r < kRows; ++r)
          set_bits(top->offer_b_i, static_cast<std::size_t>(((r * kDepth + s) * kLanes + lane) * kRtlWidth),
                   kRtlWidth, all[at].b.value(r, row, lane) >> 16);
        b_offered[static_cast<std::size_t>(s * kLanes + lane)] = all[at].b.value(0, row, lane);
        a_offered[static_cast<std::size_t>(s * kLanes + lane)] = all[at].a.value(0, row, lane);
      }
      if (++row == all[at].b.steps) {
        row = 0;
        ++at;
      }
    }
    top->eval();
    const Bits valid = bits_of(top->valid_o, 0, kLanes), sel = bits_of(top->sel_o, 0, kLanes * 3);
    const auto operands = [&](const std::vector<std::uint32_t>& staged) {
      std::vector<std::uint32_t> words;
      for (std::size_t l = 0; l < kLanes; ++l) {
        const auto& move = info.moves[get_bits(top->sel_o, l * 3, 3)];
        const std::size_t from = (l + static_cast<std::size_t>(move.offset + kLanes)) % kLanes;
        words.push_back(valid[l] ? staged[static_cast<std::size_t>(move.step) * kLanes + from] : 0);
      }
      return bits_of_words(words);
    };
    const Bits a = operands(a_staged), b = operands(b_staged);
    // An empty window holds anything.
    for (std::size_t l = 0; l < kLanes && top->issue_o != 0; ++l) {
      if (bits_of(top->operands_o, l * kRtlWidth, kRtlWidth) !=
          Bits(b.begin() + static_cast<std::ptrdiff_t>(l * kWidth + 16),
               b.begin() + static_cast<std::ptrdiff_t>(l * kWidth + 32))) {
        std::cerr << "activity: the RTL has other operands\n";
        std::exit(1);
      }
    }
    recorder.sample("scheduler", "window_i", bits_of(top->pending_o, 0, kDepth * kLanes));
    recorder.sample("scheduler", "sel_o", sel);
    recorder.sample("scheduler", "valid_o", valid);
    recorder.sample("mux_a", "staged_i", bits_of_words(a_staged));
    recorder.sample("mux_a", "operands_o", a);
    recorder.sample("mux_b", "staged_i", bits_of_words(b_staged));
    recorder.sample("mux_b", "operands_o", b);
    for (const char* mux : {"mux_a", "mux_b"}) {
      recorder.sample(mux, "sel_i", sel);
      recorder.sample(mux, "valid_i", valid);
    }
    recorder.sample("pe_skipping", "a_i", a);
    recorder.sample("pe_skipping", "b_i", b);
    // The values move as the RTL says.
    if (top->move_o != 0) {
      a_staged = moved(a_staged, a_offered, top->advance_o, top->load_o);
      b_staged = moved(b_staged, b_offered, top->advance_o, top->load_o);
    }
    for (int taken = top->offer_take_o; taken > 0; --taken) {
      if (++step == all[stream].b.steps) {
        step = 0;
        ++stream;
      }
    }
    tick(*top);
  }
  // The baseline takes every step as it is.
  for (const Streams& streams : all) {
    for (int s = 0; s < streams.b.steps; ++s) {
      recorder.sample("pe_dense", "a_i", bits_of_words(row_of(streams.a, 0, s)));
      recorder.sample("pe_dense", "b_i", bits_of_words(row_of(streams.b, 0, s)));
    }
  }
  return clocks;
}

}  // namespace
}  // namespace lacuna::rtl

int main() {
  using namespace lacuna;
  using namespace lacuna::rtl;
  const RecordedOperation op = smallest_operation(recorded_trace("squeezenet"), 20'000);
  Random random(1);
  const std::vector<Streams> all = streams_of(op, 4000, random);
  Recorder recorder;
  const std::int64_t clocks = record(all, connectivity_info("paper", 16, 3), recorder);
  std::int64_t steps = 0;
  for (const Streams& streams : all) steps += streams.b.steps;
  std::cout << fmt::format(
      "{{\n \"operation\": \"{}\", \"clocks\": {}, \"steps\": {},\n \"uses\": {{{}}}\n}}\n", op.name, clocks,
      steps, recorder.json());
  return 0;
}
