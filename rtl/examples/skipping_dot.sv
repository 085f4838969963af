// SPDX-License-Identifier: Apache-2.0
// The scheduler in a design of one's own: a dot product of two streams of integers, Lanes pairs per step, that skips the steps'
// zeros of B. What is TensorDash is u_frontend and the two things that follow it: a staging buffer for A that moves with it, and
// multiplexers that its selections drive.
module skipping_dot #(
  parameter int unsigned  Width = 16,  // bits of a value; the highest is its sign, and only the others make it a zero
  parameter int unsigned  SumW  = 48,  // bits of the sum
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned SelW  = td_conn_pkg::SelW,
  localparam int unsigned AdvW  = td_conn_pkg::AdvW
) (
  input  logic                         clk_i,         // clock
  input  logic                         rst_ni,        // asynchronous reset, active low
  input  logic [Depth-1:0]             offer_valid_i, // the next steps that are there: a prefix
  input  logic [Depth-1:0]             offer_last_i,  // the step is the last of its dot product
  input  logic [Depth*Lanes*Width-1:0] offer_a_i,     // the next Depth steps of A, the oldest lowest
  input  logic [Depth*Lanes*Width-1:0] offer_b_i,     // of B, whose zeros are skipped
  output logic [AdvW-1:0]              offer_take_o,  // steps that were taken: show those that follow in the next cycle
  output logic                         sum_valid_o,   // a dot product is complete, for one cycle
  output logic signed [SumW-1:0]       sum_o          // the dot product
);
  logic                         issue, first, last, move;
  logic [AdvW-1:0]              advance;
  logic [Depth-1:0]             load;
  logic [Lanes*SelW-1:0]        sel;
  logic [Lanes-1:0]             valid;
  logic [Lanes*Width-1:0]       a, b;
  logic [Depth*Lanes*Width-1:0] staged;

  td_tile_frontend #(.Rows(1), .Width(Width)) u_frontend (
    .clk_i, .rst_ni, .offer_valid_i, .offer_last_i, .offer_b_i, .offer_take_o, .bypass_i(1'b0), .stall_i(1'b0),
    .issue_o(issue), .first_o(first), .last_o(last), .move_o(move), .advance_o(advance), .load_o(load), .sel_o(sel),
    .valid_o(valid), .operands_o(b)
  );
  td_staging #(.Bits(Lanes*Width)) u_a (
    .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load), .offered_i(offer_a_i), .staged_i(staged),
    .staged_o(staged)
  );
  td_operand_mux #(.Width(Width)) u_mux (.staged_i(staged), .sel_i(sel), .valid_i(valid), .operands_o(a));

  // Your own arithmetic: lanes without a pair have zeros.
  logic signed [SumW-1:0] products, sum_q;
  logic                   done_q;
  always_comb begin
    products = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      products = products + SumW'($signed(a[l*Width +: Width])) * SumW'($signed(b[l*Width +: Width]));
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done_q <= 1'b0;
    else done_q <= issue & last;
  end
  always_ff @(posedge clk_i) begin
    if (issue) sum_q <= first ? products : sum_q + products;
  end
  assign sum_valid_o = done_q;
  assign sum_o       = sum_q;
endmodule
