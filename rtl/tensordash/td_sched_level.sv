// SPDX-License-Identifier: Apache-2.0
// One level of the scheduler [TensorDash §3.2, Fig. 10]: its lanes choose at the same time, each the first effectual value
// it can reach, and what they take is removed from the window. The connectivity guarantees that no two lanes of a level
// reach the same value. Combinational.
module td_sched_level #(
  parameter logic [td_conn_pkg::Lanes-1:0] Members = {td_conn_pkg::Lanes{1'b1}},  // lanes that choose in this level
  parameter bit           Partial = 1'b0,                 // use enable_i; else all lanes take part
  localparam int unsigned Lanes   = td_conn_pkg::Lanes,
  localparam int unsigned Depth   = td_conn_pkg::Depth,
  localparam int unsigned Moves   = td_conn_pkg::Moves,
  localparam int unsigned SelW    = td_conn_pkg::SelW
) (
  input  logic [Depth*Lanes-1:0] window_i,  // effectual bits: row s, lane l at s*Lanes + l; row 0 is the oldest
  input  logic [Lanes-1:0]       enable_i,  // lanes that take part, if Partial
  output logic [Depth*Lanes-1:0] window_o,  // without what this level takes
  output logic [Lanes*SelW-1:0]  sel_o,     // movement of each lane; 0 where valid_o is 0
  output logic [Lanes-1:0]       valid_o    // the lane takes a value
);
  logic [Depth*Lanes-1:0] taken;
  logic                   unused_enable;

  always_comb begin
    taken   = '0;
    sel_o   = '0;
    valid_o = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (Members[l]) begin
        for (int unsigned m = 0; m < Moves; m++) begin
          if (!valid_o[l] && (enable_i[l] || !Partial) && window_i[td_conn_pkg::place(l, m)]) begin
            taken[td_conn_pkg::place(l, m)] = 1'b1;
            valid_o[l]                      = 1'b1;
            sel_o[l*SelW +: SelW]           = SelW'(m);
          end
        end
      end
    end
  end
  assign window_o      = window_i & ~taken;
  assign unused_enable = ^enable_i;
endmodule
