// SPDX-License-Identifier: Apache-2.0
// The hierarchical scheduler of one row of PEs [TensorDash §3.2, Fig. 10]: all levels in one cycle. Combinational.
module td_scheduler #(
  parameter bit           Partial = 1'b0,  // use enable_i; else all lanes take part
  localparam int unsigned Lanes   = td_conn_pkg::Lanes,
  localparam int unsigned Depth   = td_conn_pkg::Depth,
  localparam int unsigned Levels  = td_conn_pkg::Levels,
  localparam int unsigned SelW    = td_conn_pkg::SelW,
  localparam int unsigned AdvW    = td_conn_pkg::AdvW
) (
  input  logic [Depth*Lanes-1:0] window_i,   // effectual bits: row s, lane l at s*Lanes + l; row 0 is the oldest
  input  logic [Lanes-1:0]       enable_i,   // lanes that take part, if Partial: for tails of groups in scheduled form
  output logic [Depth*Lanes-1:0] window_o,   // what is left for later cycles
  output logic [Lanes*SelW-1:0]  sel_o,      // MS: the movement of each lane's multiplexers
  output logic [Lanes-1:0]       valid_o,    // the lane has a pair to multiply
  output logic [AdvW-1:0]        drained_o   // AS: rows that are empty from the front, at least 1 if row 0 lies in lanes that take part
);
  function automatic logic [Lanes-1:0] members(input int unsigned level);
    members = '0;
    for (int unsigned l = 0; l < Lanes; l++) members[l] = td_conn_pkg::level_of(l) == level;
  endfunction

  // verilator lint_off UNOPTFLAT
  logic [(Levels+1)*Depth*Lanes-1:0] window;
  // verilator lint_on UNOPTFLAT
  logic [Levels*Lanes*SelW-1:0]      sel;
  logic [Levels*Lanes-1:0]           valid;

  assign window[0 +: Depth*Lanes] = window_i;

  for (genvar v = 0; v < Levels; v++) begin : gen_level
    td_sched_level #(.Members(members(v)), .Partial(Partial)) u_level (
      .window_i(window[v*Depth*Lanes +: Depth*Lanes]), .enable_i, .window_o(window[(v+1)*Depth*Lanes +: Depth*Lanes]),
      .sel_o(sel[v*Lanes*SelW +: Lanes*SelW]), .valid_o(valid[v*Lanes +: Lanes])
    );
  end

  // Every lane chooses in one level only; the others leave its outputs at zero.
  always_comb begin
    sel_o   = '0;
    valid_o = '0;
    for (int unsigned v = 0; v < Levels; v++) begin
      sel_o   = sel_o | sel[v*Lanes*SelW +: Lanes*SelW];
      valid_o = valid_o | valid[v*Lanes +: Lanes];
    end
  end

  assign window_o = window[Levels*Depth*Lanes +: Depth*Lanes];

  td_drained u_drained (.window_i(window_o), .drained_o);
endmodule
