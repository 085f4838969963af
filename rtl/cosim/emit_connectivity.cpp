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
        "endpackage\n",
        argv[1], info.lanes, info.depth, info.lanes, info.depth, moves, info.levels,
        bytes(moves, [&](std::size_t i) { return info.moves[i].step; }),
        bytes(moves, [&](std::size_t i) { return info.moves[i].offset; }),
        bytes(info.level_of.size(), [&](std::size_t i) { return info.level_of[i]; }));
  } catch (const lacuna::InputError& error) {
    std::cerr << "emit_connectivity: " << error.what() << "\n";
    return 2;
  }
  return 0;
}
