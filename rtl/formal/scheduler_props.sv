// SPDX-License-Identifier: Apache-2.0
// Properties of the scheduler for every window. Written from the paper's rules, not from the scheduler's code.
module scheduler_props (
  input logic [td_conn_pkg::Depth*td_conn_pkg::Lanes-1:0] window_i
);
  localparam int unsigned Lanes = td_conn_pkg::Lanes;
  localparam int unsigned Depth = td_conn_pkg::Depth;
  localparam int unsigned Moves = td_conn_pkg::Moves;
  localparam int unsigned SelW  = Moves > 1 ? $clog2(Moves) : 1;
  localparam int unsigned AdvW  = $clog2(Depth + 1);

  logic [Depth*Lanes-1:0] left;
  logic [Lanes*SelW-1:0]  sel;
  logic [Lanes-1:0]       valid;
  logic [AdvW-1:0]        drained;
  td_scheduler u_dut (
    .window_i, .enable_i({Lanes{1'b1}}), .window_o(left), .sel_o(sel), .valid_o(valid), .drained_o(drained)
  );

  // Place of the window that each lane takes, one bit per place.
  logic [Lanes*Depth*Lanes-1:0] takes;
  logic [Depth*Lanes-1:0]       once, twice;
  always_comb begin
    takes = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      for (int unsigned m = 0; m < Moves; m++) begin
        if (valid[l] && sel[l*SelW +: SelW] == m) begin
          takes[l*Depth*Lanes + td_conn_pkg::Step[m*8 +: 8]*Lanes + (l + td_conn_pkg::Offset[m*8 +: 8]) % Lanes] = 1'b1;
        end
      end
    end
    once  = '0;
    twice = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      twice = twice | (once & takes[l*Depth*Lanes +: Depth*Lanes]);
      once  = once | takes[l*Depth*Lanes +: Depth*Lanes];
    end
  end

  always_comb begin
    // Each pair at most once, and never a zero.
    assert (twice == '0);
    assert ((once & ~window_i) == '0);
    // A valid lane names a movement that exists.
    for (int unsigned l = 0; l < Lanes; l++) assert (valid[l] == (takes[l*Depth*Lanes +: Depth*Lanes] != '0));
    // Taken bits are cleared, and only those.
    assert (left == (window_i & ~once));
    // No non-zero of the oldest step is left over.
    assert (left[Lanes-1:0] == '0);
    // AS: the empty rows from the front, at least one.
    assert (drained >= 1 && drained <= Depth);
    for (int unsigned s = 0; s < Depth; s++) begin
      if (s < drained) assert (left[s*Lanes +: Lanes] == '0);
      if (s == drained) assert (left[s*Lanes +: Lanes] != '0);
    end
    // The order of preference: no lane leaves a value that comes before its choice; an idle lane leaves none in reach.
    for (int unsigned l = 0; l < Lanes; l++) begin
      for (int unsigned m = 0; m < Moves; m++) begin
        if (!valid[l] || m < sel[l*SelW +: SelW]) begin
          assert (!left[td_conn_pkg::Step[m*8 +: 8]*Lanes + (l + td_conn_pkg::Offset[m*8 +: 8]) % Lanes]);
        end
      end
    end
  end
endmodule
