// Writes td_conn_pkg.sv: a connectivity of the model as parameters of the RTL.
//   emit_connectivity SPEC LANES DEPTH > td_conn_pkg.sv
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>

#include "base/error.hpp"
#include "tensordash_reference.hpp"

namespace {

// Bytes as one hexadecimal literal, the first byte lowest.
template <typename Of>
std::string bytes(std::size_t count, const Of& of) {
  std::string digits;
  for (std::size_t i = count; i-- > 0;) digits += fmt::format("{:02x}{}", of(i), i > 0 ? "_" : "");
  return fmt::format("{}'h{}", count * 8, digits);
}

// The same for every connectivity.
constexpr const char* kDerived = R"(
  parameter int unsigned SelW = Moves > 1 ? $clog2(Moves) : 1;  // bits of a movement
  parameter int unsigned AdvW = $clog2(Depth + 1);              // bits of an advance, 0..Depth

  function automatic int unsigned step_of(input int unsigned move);
    step_of = {24'b0, Step[move*8 +: 8]};
  endfunction
  function automatic int unsigned level_of(input int unsigned lane);
    level_of = {24'b0, LevelOf[lane*8 +: 8]};
  endfunction
  // The place in a window that a lane reaches by a movement; row s, lane l is place s*Lanes + l.
  function automatic int unsigned place(input int unsigned lane, input int unsigned move);
    place = step_of(move) * Lanes + (lane + {24'b0, Offset[move*8 +: 8]}) % Lanes;
  endfunction
  // The lane that reaches another lane's values by a movement.
  function automatic int unsigned lane_to(input int unsigned lane, input int unsigned move);
    lane_to = (lane + Lanes - {24'b0, Offset[move*8 +: 8]}) % Lanes;
  endfunction
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: emit_connectivity SPEC LANES DEPTH\n";
    return 2;
  }
  try {
    const lacuna::rtl::ConnectivityInfo info =
        lacuna::rtl::connectivity_info(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
    const std::size_t moves = info.moves.size();
    std::cout << fmt::format(
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Written by emit_connectivity from the model's own description; do not edit.\n"
        "// Connectivity {}, {} lanes, depth {} [TensorDash §3.2, Fig. 9].\n"
        "package td_conn_pkg;\n"
        "  parameter int unsigned Lanes = {};\n"
        "  parameter int unsigned Depth = {};\n"
        "  parameter int unsigned Moves = {};\n"
        "  parameter int unsigned Levels = {};\n"
        "  // One byte per movement, the first in the lowest byte: steps ahead, and the lane relative to "
        "one's own,\n"
        "  // modulo Lanes.\n"
        "  parameter logic [Moves*8-1:0] Step = {};\n"
        "  parameter logic [Moves*8-1:0] Offset = {};\n"
        "  // One byte per lane: the level in which it chooses.\n"
        "  parameter logic [Lanes*8-1:0] LevelOf = {};\n"
        "{}"
        "endpackage\n",
        argv[1], info.lanes, info.depth, info.lanes, info.depth, moves, info.levels,
        bytes(moves, [&](std::size_t i) { return info.moves[i].step; }),
        bytes(moves, [&](std::size_t i) { return info.moves[i].offset; }),
        bytes(info.level_of.size(), [&](std::size_t i) { return info.level_of[i]; }), kDerived);
  } catch (const lacuna::InputError& error) {
    std::cerr << "emit_connectivity: " << error.what() << "\n";
    return 2;
  }
  return 0;
}
