// SPDX-License-Identifier: Apache-2.0
// Properties of each level of the scheduler for every window, and of AS. For connectivities whose whole scheduler is too large
// for the solver. The scheduler is a chain of levels, each on what the one before left over, so scheduler_props follows:
// - What is taken is gone, so no later level takes it: each pair at most once.
// - Windows only lose bits: a value that a lane did not find at its level, or that its level took from the oldest step, is
//   not there in the end either.
// - Every lane chooses at one level and is silent at the others, so the OR of all levels is its choice.
module level_props #(
  parameter int unsigned Level = 0
) (
  input logic [td_conn_pkg::Depth*td_conn_pkg::Lanes-1:0] window_i
);
  localparam int unsigned Lanes  = td_conn_pkg::Lanes;
  localparam int unsigned Places = td_conn_pkg::Depth * Lanes;
  localparam int unsigned Moves  = td_conn_pkg::Moves;
  localparam int unsigned SelW   = Moves > 1 ? $clog2(Moves) : 1;

  function automatic logic [Lanes-1:0] members();
    members = '0;
    for (int unsigned l = 0; l < Lanes; l++) members[l] = {24'b0, td_conn_pkg::LevelOf[l*8 +: 8]} == Level;
  endfunction
  localparam logic [Lanes-1:0] Members = members();

  logic [Places-1:0]     left;
  logic [Lanes*SelW-1:0] sel;
  logic [Lanes-1:0]      valid;
  td_sched_level #(.Members(Members)) u_dut (
    .window_i, .enable_i({Lanes{1'b1}}), .window_o(left), .sel_o(sel), .valid_o(valid)
  );

  // Place of the window that each lane takes, one bit per place.
  logic [Lanes*Places-1:0] takes;
  logic [Places-1:0]       once, twice;
  always_comb begin
    takes = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      for (int unsigned m = 0; m < Moves; m++) begin
        if (valid[l] && sel[l*SelW +: SelW] == m) begin
          takes[l*Places + td_conn_pkg::Step[m*8 +: 8]*Lanes + (l + td_conn_pkg::Offset[m*8 +: 8]) % Lanes] = 1'b1;
        end
      end
    end
    once  = '0;
    twice = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      twice = twice | (once & takes[l*Places +: Places]);
      once  = once | takes[l*Places +: Places];
    end
  end

  always_comb begin
    // Each pair at most once, and never a zero; what was taken is gone, nothing else is.
    assert (twice == '0);
    assert ((once & ~window_i) == '0);
    assert (left == (window_i & ~once));
    for (int unsigned l = 0; l < Lanes; l++) begin
      // Lanes of other levels are silent: each selects at its own level only.
      if (!Members[l]) assert (!valid[l] && sel[l*SelW +: SelW] == '0);
      // A valid lane names a movement that exists.
      assert (valid[l] == (takes[l*Places +: Places] != '0));
      // The order of preference, and no idle lane with a value in reach.
      for (int unsigned m = 0; m < Moves; m++) begin
        if (Members[l] && (!valid[l] || m < sel[l*SelW +: SelW])) begin
          assert (!window_i[td_conn_pkg::Step[m*8 +: 8]*Lanes + (l + td_conn_pkg::Offset[m*8 +: 8]) % Lanes]);
        end
      end
      // Movement 0 is a lane's own value of the oldest step, so no non-zero of that step outlives its lane's level.
      if (Members[l]) assert (!left[l]);
    end
  end

  // Every lane chooses in exactly one level, and its first movement is its own place.
  initial begin
    assert (td_conn_pkg::Step[7:0] == 8'd0 && td_conn_pkg::Offset[7:0] == 8'd0);
    for (int unsigned l = 0; l < Lanes; l++) assert ({24'b0, td_conn_pkg::LevelOf[l*8 +: 8]} < td_conn_pkg::Levels);
  end
endmodule

module levels_props (
  input logic [td_conn_pkg::Depth*td_conn_pkg::Lanes-1:0] window_i
);
  localparam int unsigned Lanes = td_conn_pkg::Lanes;
  localparam int unsigned Depth = td_conn_pkg::Depth;
  localparam int unsigned AdvW  = $clog2(Depth + 1);
  for (genvar v = 0; v < td_conn_pkg::Levels; v++) begin : gen_level
    level_props #(.Level(v)) u_level (.window_i);
  end

  logic [AdvW-1:0] drained;
  td_drained u_drained (.window_i, .drained_o(drained));
  always_comb begin
    assert (drained <= Depth && (drained >= 1 || window_i[Lanes-1:0] != '0));
    for (int unsigned s = 0; s < Depth; s++) begin
      if (s < drained) assert (window_i[s*Lanes +: Lanes] == '0);
      if (s == drained) assert (window_i[s*Lanes +: Lanes] != '0);
    end
  end
endmodule
