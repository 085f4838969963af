// SPDX-License-Identifier: Apache-2.0
// The front end shared by the PEs of a tile row [TensorDash §3.3, Fig. 11]: zero detection, the staging buffer of the scheduled
// operand (B), the scheduler and the B multiplexers. The tile decides when the window moves (td_window_ctrl): rows go in
// lock-step.
module td_row_frontend #(
  parameter int unsigned  Width = 32,
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned SelW  = td_conn_pkg::SelW,
  localparam int unsigned AdvW  = td_conn_pkg::AdvW
) (
  input  logic                         clk_i,       // clock
  input  logic                         rst_ni,      // asynchronous reset, active low
  input  logic [Depth*Lanes*Width-1:0] offered_i,   // the next rows of B
  input  logic                         bypass_i,    // from td_window_ctrl, as the next three; dense: lanes take row 0
  input  logic                         move_i,      // the window moves
  input  logic [AdvW-1:0]              advance_i,   // rows that leave it
  input  logic [Depth-1:0]             load_i,      // offered rows that enter it
  output logic [AdvW-1:0]              drained_o,   // AS of this row
  output logic [Lanes*SelW-1:0]        sel_o,       // MS, for the A multiplexers of the row's PEs
  output logic [Lanes-1:0]             valid_o,     // lanes with a pair
  output logic [Lanes*Width-1:0]       operands_o   // B operands of all PEs of the row
);
  logic [Depth*Lanes-1:0]       effectual;
  logic [Depth*Lanes*Width-1:0] staged;

  td_zero_detect #(.Count(Depth * Lanes), .Width(Width)) u_zero (.values_i(offered_i), .effectual_o(effectual));
  td_staging #(.Bits(Lanes * Width)) u_staged (
    .clk_i, .rst_ni, .move_i, .advance_i, .load_i, .offered_i, .staged_i(staged), .staged_o(staged)
  );
  td_select u_select (
    .clk_i, .rst_ni, .effectual_i(effectual), .bypass_i, .move_i, .advance_i, .load_i, .drained_o, .sel_o, .valid_o
  );
  td_operand_mux #(.Width(Width)) u_mux (.staged_i(staged), .sel_i(sel_o), .valid_i(valid_o), .operands_o);
endmodule
