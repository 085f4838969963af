// SPDX-License-Identifier: Apache-2.0
// Test bench: td_tile_frontend with its insides brought out, so that every cycle can be compared with the model.
module tb_frontend #(
  parameter int unsigned  Rows  = 4,
  parameter int unsigned  Width = 16,
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned Moves = td_conn_pkg::Moves,
  localparam int unsigned SelW  = Moves > 1 ? $clog2(Moves) : 1,
  localparam int unsigned AdvW  = $clog2(Depth + 1)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic [Depth-1:0]                  offer_valid_i,
  input  logic [Depth-1:0]                  offer_last_i,
  input  logic [Rows*Depth*Lanes*Width-1:0] offer_b_i,
  output logic [AdvW-1:0]                   offer_take_o,
  input  logic                              bypass_i,
  input  logic                              stall_i,
  output logic                              issue_o,
  output logic                              first_o,
  output logic                              last_o,
  output logic                              move_o,
  output logic [AdvW-1:0]                   advance_o,
  output logic [Depth-1:0]                  load_o,
  output logic [Rows*Lanes*SelW-1:0]        sel_o,
  output logic [Rows*Lanes-1:0]             valid_o,
  output logic [Rows*Lanes*Width-1:0]       operands_o,
  // Insides.
  output logic [Rows*Depth*Lanes-1:0]       pending_o,
  output logic [Rows*Depth*Lanes*Width-1:0] staged_o,
  output logic [AdvW-1:0]                   slide_o
);
  logic issue;
  assign issue_o = issue & ~stall_i;
  td_tile_frontend #(.Rows(Rows), .Width(Width)) u_dut (
    .clk_i, .rst_ni, .offer_valid_i, .offer_last_i, .offer_b_i, .offer_take_o, .bypass_i, .stall_i, .issue_o(issue), .first_o,
    .last_o, .move_o, .advance_o, .load_o, .sel_o, .valid_o, .operands_o
  );
  for (genvar r = 0; r < Rows; r++) begin : gen_probe
    assign pending_o[r*Depth*Lanes +: Depth*Lanes]             = u_dut.gen_row[r].u_row.u_select.pending;
    assign staged_o[r*Depth*Lanes*Width +: Depth*Lanes*Width]  = u_dut.gen_row[r].u_row.staged;
  end
  assign slide_o = u_dut.slide;
endmodule
