#include "sim/workload/conv_axis.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/ceil_div.hpp"

namespace lacuna {
namespace {

std::int64_t floor_mod(std::int64_t dividend, std::int64_t divisor) {
  const std::int64_t rest = dividend % divisor;
  return rest < 0 ? rest + divisor : rest;
}

// The sum of floor((slope * i + offset) / divisor) for 0 <= i < count, slope and offset not negative: the
// points below a line. As in Euclid's algorithm, what is left after whole multiples is the same problem with
// the axes exchanged.
std::int64_t floor_sum(std::int64_t count, std::int64_t slope, std::int64_t offset, std::int64_t divisor) {
  std::int64_t sum = 0;
  while (count > 0) {
    sum += count * (count - 1) / 2 * (slope / divisor) + count * (offset / divisor);
    slope %= divisor;
    offset %= divisor;
    const std::int64_t top = slope * count + offset;
    count = top / divisor;
    offset = top % divisor;
    std::swap(slope, divisor);
  }
  return sum;
}

// x with (value * x) % modulus == 1 % modulus; the two have no common divisor.
std::int64_t inverse(std::int64_t value, std::int64_t modulus) {
  std::int64_t old_rest = value % modulus, rest = modulus;
  std::int64_t old_factor = 1, factor = 0;
  while (rest != 0) {
    const std::int64_t quotient = old_rest / rest;
    old_rest = std::exchange(rest, old_rest - quotient * rest);
    old_factor = std::exchange(factor, old_factor - quotient * factor);
  }
  return floor_mod(old_factor, modulus);
}

// Numbers i with low <= offset + i * step < high, among 0 <= i < count.
ConvAxis::Range steps_between(std::int64_t offset, std::int64_t step, std::int64_t low, std::int64_t high,
                              std::int64_t count) {
  const std::int64_t first = std::clamp<std::int64_t>(ceil_div(low - offset, step), 0, count);
  const std::int64_t last = std::clamp<std::int64_t>(ceil_div(high - offset, step), first, count);
  return {first, last};
}

// (output, tap) pairs with output * stride + tap * dilation < limit.
std::int64_t pairs_below(const ConvAxis& axis, std::int64_t limit) {
  const auto taps_below = [&](std::int64_t bound) {
    return std::clamp<std::int64_t>(ceil_div(bound, axis.dilation), 0, axis.kernel);
  };
  const std::int64_t all_outputs = taps_below(limit - (axis.out - 1) * axis.stride);
  const std::int64_t some_output = taps_below(limit);
  // Sum over the taps between, from the last to the first: ceil((limit - tap * dilation) / stride) outputs.
  const std::int64_t least = limit - (some_output - 1) * axis.dilation;
  return all_outputs * axis.out +
         floor_sum(some_output - all_outputs, axis.dilation, least + axis.stride - 1, axis.stride);
}

}  // namespace

ConvAxis::Range ConvAxis::outputs_of(std::int64_t tap) const {
  return steps_between(source(0, tap), stride, 0, in, out);
}

ConvAxis::Range ConvAxis::taps_of(std::int64_t output) const {
  return steps_between(source(output, 0), dilation, 0, in, kernel);
}

std::int64_t ConvAxis::pairs() const {
  return pairs_below(*this, in + padding) - pairs_below(*this, padding);
}

std::vector<std::int64_t> ConvAxis::pairs_by_input() const {
  // output * stride + tap * dilation = position + padding: taps of one class modulo stride / divisor, in the
  // range that leaves an output which exists.
  const std::int64_t divisor = std::gcd(stride, dilation);
  const std::int64_t period = stride / divisor;
  const std::int64_t factor = inverse(dilation / divisor, period);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(in), 0);
  for (std::int64_t position = 0; position < in; ++position) {
    const std::int64_t place = position + padding;
    if (place % divisor != 0) continue;
    const std::int64_t phase = place / divisor % period * factor % period;
    const std::int64_t first = std::max<std::int64_t>(0, ceil_div(place - (out - 1) * stride, dilation));
    const std::int64_t last = std::min(kernel - 1, place / dilation);
    const Range taps = steps_between(phase, period, first, last + 1, kernel);
    counts[static_cast<std::size_t>(position)] = taps.size();
  }
  return counts;
}

std::vector<std::int64_t> ConvAxis::pairs_by_output() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(out));
  for (std::int64_t o = 0; o < out; ++o) counts[static_cast<std::size_t>(o)] = taps_of(o).size();
  return counts;
}

std::vector<std::int64_t> ConvAxis::pairs_by_tap() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(kernel));
  for (std::int64_t tap = 0; tap < kernel; ++tap)
    counts[static_cast<std::size_t>(tap)] = outputs_of(tap).size();
  return counts;
}

std::int64_t ConvAxis::phase_positions(std::int64_t tap) const {
  const std::int64_t first = floor_mod(tap * dilation - padding, stride);
  return first < in ? (in - 1 - first) / stride + 1 : 0;
}

std::int64_t ConvAxis::phase_pairs() const {
  // Each phase has in / stride positions, and one more if it begins below the rest; the taps for which it
  // does are counted as differences of quotients.
  const std::int64_t rest = in % stride;
  const std::int64_t offset = stride + floor_mod(-padding, stride);
  return kernel * (in / stride) + floor_sum(kernel, dilation, offset, stride) -
         floor_sum(kernel, dilation, offset - rest, stride);
}

}  // namespace lacuna
