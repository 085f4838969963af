// SPDX-License-Identifier: Apache-2.0
// The front end of one PE that skips zeros of both operands [TensorDash §3.1, Fig. 8; §3.3]: a scheduler of its effectual pairs,
// and multiplexers for both operands. The staged values belong to the PE's row and column. The tile decides when the window
// moves (td_window_ctrl): all PEs go in lock-step.
module td_pair_frontend #(
  parameter int unsigned  Width = 32,
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned SelW  = td_conn_pkg::SelW,
  localparam int unsigned AdvW  = td_conn_pkg::AdvW
) (
  input  logic                         clk_i,          // clock
  input  logic                         rst_ni,         // asynchronous reset, active low
  input  logic [Depth*Lanes-1:0]       a_effectual_i,  // of the next rows of the column's A
  input  logic [Depth*Lanes-1:0]       b_effectual_i,  // of the next rows of the row's B
  input  logic [Depth*Lanes*Width-1:0] a_staged_i,     // the column's staging buffer
  input  logic [Depth*Lanes*Width-1:0] b_staged_i,     // the row's staging buffer
  input  logic                         bypass_i,       // from td_window_ctrl, as the next three; dense: lanes take row 0
  input  logic                         move_i,         // the window moves
  input  logic [AdvW-1:0]              advance_i,      // rows that leave it
  input  logic [Depth-1:0]             load_i,         // offered rows that enter it
  output logic [AdvW-1:0]              drained_o,      // AS of this PE
  output logic [Lanes*Width-1:0]       a_o,            // operands of the multipliers
  output logic [Lanes*Width-1:0]       b_o             // as a_o
);
  logic [Lanes*SelW-1:0] sel;
  logic [Lanes-1:0]      valid;

  td_select u_select (
    .clk_i, .rst_ni, .effectual_i(a_effectual_i & b_effectual_i), .bypass_i, .move_i, .advance_i, .load_i, .drained_o,
    .sel_o(sel), .valid_o(valid)
  );
  td_operand_mux #(.Width(Width)) u_mux_a (.staged_i(a_staged_i), .sel_i(sel), .valid_i(valid), .operands_o(a_o));
  td_operand_mux #(.Width(Width)) u_mux_b (.staged_i(b_staged_i), .sel_i(sel), .valid_i(valid), .operands_o(b_o));
endmodule
