// SPDX-License-Identifier: Apache-2.0
// One scheduler with its state [TensorDash §3.1, §3.2]: the bits of the effectual pairs that no lane has used yet, from which
// every lane chooses a movement each cycle. The tile decides when the window moves (td_window_ctrl).
module td_select #(
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned SelW  = td_conn_pkg::SelW,
  localparam int unsigned AdvW  = td_conn_pkg::AdvW
) (
  input  logic                   clk_i,        // clock
  input  logic                   rst_ni,       // asynchronous reset, active low
  input  logic [Depth*Lanes-1:0] effectual_i,  // of the next rows
  input  logic                   bypass_i,     // from td_window_ctrl, as the next three; dense: lanes take row 0
  input  logic                   move_i,       // the window moves
  input  logic [AdvW-1:0]        advance_i,    // rows that leave it
  input  logic [Depth-1:0]       load_i,       // offered rows that enter it
  output logic [AdvW-1:0]        drained_o,    // AS
  output logic [Lanes*SelW-1:0]  sel_o,        // MS
  output logic [Lanes-1:0]       valid_o       // lanes with a pair
);
  logic [Depth*Lanes-1:0] pending, seen, left;
  logic [Lanes*SelW-1:0]  sel;
  logic [Lanes-1:0]       valid;
  logic [AdvW-1:0]        drained;

  // Rows are kept only in a cycle that issues, so what stays is what the scheduler left over.
  td_staging #(.Bits(Lanes)) u_pending (
    .clk_i, .rst_ni, .move_i, .advance_i, .load_i, .offered_i(effectual_i), .staged_i(left), .staged_o(pending)
  );

  // In bypass the scheduler's inputs rest at zero.
  assign seen = bypass_i ? '0 : pending;

  td_scheduler u_scheduler (
    .window_i(seen), .enable_i({Lanes{1'b1}}), .window_o(left), .sel_o(sel), .valid_o(valid), .drained_o(drained)
  );

  assign sel_o     = bypass_i ? '0 : sel;
  assign valid_o   = bypass_i ? {Lanes{1'b1}} : valid;
  assign drained_o = bypass_i ? AdvW'(1) : drained;

`ifndef SYNTHESIS
  QuietInBypass : assert property (@(posedge clk_i) disable iff (!rst_ni) !bypass_i || (seen == '0));
`endif
endmodule
