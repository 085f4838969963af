// SPDX-License-Identifier: Apache-2.0
// The window of a tile and the front ends of its rows in lock-step: the columns' staging buffers are shared by all rows, so
// the tile slides by the smallest number of rows that any row drained [TensorDash §3.3; the model's assumption A4].
module td_tile_frontend #(
  parameter int unsigned  Rows  = 4,
  parameter int unsigned  Width = 32,
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned SelW  = td_conn_pkg::SelW,
  localparam int unsigned AdvW  = td_conn_pkg::AdvW
) (
  input  logic                              clk_i,          // clock
  input  logic                              rst_ni,         // asynchronous reset, active low
  input  logic [Depth-1:0]                  offer_valid_i,  // see td_window_ctrl
  input  logic [Depth-1:0]                  offer_last_i,   // the row is the last of its stream
  input  logic [Rows*Depth*Lanes*Width-1:0] offer_b_i,      // row r at r*Depth*Lanes*Width
  output logic [AdvW-1:0]                   offer_take_o,   // rows taken this cycle
  input  logic                              bypass_i,       // see td_window_ctrl
  input  logic                              stall_i,        // the pipe behind the window cannot move
  output logic                              issue_o,        // see td_window_ctrl, as the next five
  output logic                              first_o,        // with issue_o: the stream's first cycle
  output logic                              last_o,         // with issue_o: the stream's last cycle
  output logic                              move_o,         // the window moves
  output logic [AdvW-1:0]                   advance_o,      // rows that leave it
  output logic [Depth-1:0]                  load_o,         // offered rows that enter it
  output logic [Rows*Lanes*SelW-1:0]        sel_o,          // MS, by row and lane
  output logic [Rows*Lanes-1:0]             valid_o,        // lanes with a pair
  output logic [Rows*Lanes*Width-1:0]       operands_o      // operands of B, by row and lane
);
  logic [Rows*AdvW-1:0] drained;
  logic [AdvW-1:0]      slide;
  logic                 bypass;  // of the stream in the window

  // The smallest AS: every row has drained so many.
  always_comb begin
    slide = '0;
    for (int unsigned s = 0; s < Depth; s++) begin
      logic all;
      all = 1'b1;
      for (int unsigned r = 0; r < Rows; r++) all = all & (drained[r*AdvW +: AdvW] > AdvW'(s));
      if (all) slide = AdvW'(s + 1);
    end
  end

  td_window_ctrl u_ctrl (
    .clk_i, .rst_ni, .offer_valid_i, .offer_last_i, .offer_take_o, .bypass_i, .bypass_o(bypass),
    .slide_i(slide), .stall_i, .issue_o, .first_o, .last_o, .move_o, .advance_o, .load_o
  );

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    td_row_frontend #(.Width(Width)) u_row (
      .clk_i, .rst_ni,
      .offered_i (offer_b_i[r*Depth*Lanes*Width +: Depth*Lanes*Width]),
      .bypass_i  (bypass),
      .move_i    (move_o),
      .advance_i (advance_o),
      .load_i    (load_o),
      .drained_o (drained[r*AdvW +: AdvW]),
      .sel_o     (sel_o[r*Lanes*SelW +: Lanes*SelW]),
      .valid_o   (valid_o[r*Lanes +: Lanes]),
      .operands_o(operands_o[r*Lanes*Width +: Lanes*Width])
    );
  end
`ifndef SYNTHESIS
  if (Rows < 1) $error("td_tile_frontend: Rows must be at least 1");
`endif
endmodule
