// SPDX-License-Identifier: Apache-2.0
// The iterative scheduler [TensorDash §3.7]: one set of priority encoders, one level per cycle. The
// window is held outside and updated after each level. Combinational: the level in work is an input.
module td_iterative_scheduler #(
  localparam int unsigned Lanes  = td_conn_pkg::Lanes,
  localparam int unsigned Depth  = td_conn_pkg::Depth,
  localparam int unsigned Moves  = td_conn_pkg::Moves,
  localparam int unsigned Levels = td_conn_pkg::Levels,
  localparam int unsigned SelW   = td_conn_pkg::SelW,
  localparam int unsigned LevelW = Levels > 1 ? $clog2(Levels) : 1
) (
  input  logic [LevelW-1:0]      level_i,   // the level in work
  input  logic [Depth*Lanes-1:0] window_i,  // pairs that are left
  input  logic [Lanes-1:0]       enable_i,  // lanes that take part
  output logic [Depth*Lanes-1:0] window_o,  // without what the level takes
  output logic [Lanes*SelW-1:0]  sel_o,     // of the level's lanes; zero for the others
  output logic [Lanes-1:0]       valid_o    // lanes that take a pair in this level
);
  // The n-th lane of a level has the n-th encoder; a level with fewer lanes leaves encoders idle.
  function automatic int unsigned lane_of(input int unsigned level, input int unsigned nth);
    int unsigned found;
    found   = 0;
    lane_of = Lanes;  // none
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (td_conn_pkg::level_of(l) == level) begin
        if (found == nth) lane_of = l;
        found = found + 1;
      end
    end
  endfunction
  function automatic int unsigned most_lanes();
    int unsigned count;
    most_lanes = 0;
    for (int unsigned v = 0; v < Levels; v++) begin
      count = 0;
      for (int unsigned l = 0; l < Lanes; l++) if (td_conn_pkg::level_of(l) == v) count = count + 1;
      if (count > most_lanes) most_lanes = count;
    end
  endfunction
  localparam int unsigned Encoders = most_lanes();

  logic [Encoders*Moves-1:0] request, grant;  // of each encoder, by movement
  logic [Encoders*SelW-1:0]  choice;
  logic [Encoders-1:0]       any;

  // Requests: values within reach of each lane of the level.
  always_comb begin
    request = '0;
    for (int unsigned v = 0; v < Levels; v++) begin
      for (int unsigned e = 0; e < Encoders; e++) begin
        if (lane_of(v, e) < Lanes && level_i == LevelW'(v) && enable_i[lane_of(v, e) % Lanes]) begin
          for (int unsigned m = 0; m < Moves; m++) begin
            request[e*Moves + m] = window_i[td_conn_pkg::place(lane_of(v, e), m)];
          end
        end
      end
    end
  end

  // Priority encoders.
  always_comb begin
    grant  = '0;
    choice = '0;
    any    = '0;
    for (int unsigned e = 0; e < Encoders; e++) begin
      for (int unsigned m = 0; m < Moves; m++) begin
        if (request[e*Moves + m] && !any[e]) begin
          any[e]                   = 1'b1;
          grant[e*Moves + m]       = 1'b1;
          choice[e*SelW +: SelW]   = SelW'(m);
        end
      end
    end
  end

  // Back to the lanes of the level.
  always_comb begin
    window_o = window_i;
    sel_o    = '0;
    valid_o  = '0;
    for (int unsigned v = 0; v < Levels; v++) begin
      for (int unsigned e = 0; e < Encoders; e++) begin
        if (lane_of(v, e) < Lanes && level_i == LevelW'(v)) begin
          valid_o[lane_of(v, e) % Lanes]              = any[e];
          sel_o[(lane_of(v, e) % Lanes)*SelW +: SelW] = choice[e*SelW +: SelW];
          for (int unsigned m = 0; m < Moves; m++) begin
            if (grant[e*Moves + m]) begin
              window_o[td_conn_pkg::place(lane_of(v, e), m)] = 1'b0;
            end
          end
        end
      end
    end
  end
endmodule
