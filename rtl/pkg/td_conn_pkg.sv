// SPDX-License-Identifier: Apache-2.0
// Written by emit_connectivity from the model's own description; do not edit.
// Connectivity paper, 16 lanes, depth 3 [TensorDash §3.2, Fig. 9].
package td_conn_pkg;
  parameter int unsigned Lanes = 16;
  parameter int unsigned Depth = 3;
  parameter int unsigned Moves = 8;
  parameter int unsigned Levels = 6;
  // One byte per movement, the first in the lowest byte: steps ahead, and the lane relative to one's own,
  // modulo Lanes.
  parameter logic [Moves*8-1:0] Step = 64'h01_02_02_01_01_02_01_00;
  parameter logic [Moves*8-1:0] Offset = 64'h0d_02_0e_01_0f_00_00_00;
  // One byte per lane: the level in which it chooses.
  parameter logic [Lanes*8-1:0] LevelOf = 128'h05_04_03_02_01_00_04_03_02_01_00_04_03_02_01_00;

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
endpackage
