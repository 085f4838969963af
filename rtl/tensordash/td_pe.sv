// SPDX-License-Identifier: Apache-2.0
// A processing element [TensorDash §3.1, Fig. 8]: A multiplexers, multipliers, adder tree and accumulator, one stage each
// (the tree one per level). The B operands come multiplexed from the row. With Multiplexed = 0 it is the baseline's PE.
module td_pe #(
  parameter int unsigned  ExpW        = 8,   // exponent bits
  parameter int unsigned  ManIn       = 23,  // fraction bits of operands: 23 for FP32, 7 for bfloat16
  parameter int unsigned  ManAcc      = 23,  // fraction bits of products and sums
  parameter bit           Multiplexed = 1'b1,
  localparam int unsigned Lanes       = td_conn_pkg::Lanes,
  localparam int unsigned Staged      = Multiplexed ? td_conn_pkg::Depth : 1,  // rows of A that it sees
  localparam int unsigned SelW        = td_conn_pkg::SelW,
  localparam int unsigned Width       = ExpW + ManIn + 1,
  localparam int unsigned AccW        = ExpW + ManAcc + 1
) (
  input  logic                          clk_i,       // clock
  input  logic                          rst_ni,      // asynchronous reset, active low
  input  logic                          enable_i,    // the pipe moves
  input  logic                          issue_i,     // the operands of this cycle are to be multiplied
  input  logic                          first_i,     // they begin an output
  input  logic                          last_i,      // they end an output
  input  logic [Staged*Lanes*Width-1:0] a_staged_i,  // the column's staging buffer
  input  logic [Lanes*SelW-1:0]         sel_i,       // MS of the row
  input  logic [Lanes-1:0]              valid_i,     // lanes with a pair
  input  logic [Lanes*Width-1:0]        b_i,         // B operands of the row
  output logic [AccW-1:0]               acc_o,       // the accumulator
  output logic                          done_o       // it holds a complete output, for one enabled cycle
);
  localparam int unsigned Stages = 1 + $clog2(Lanes);  // multipliers, tree

  logic [Lanes*Width-1:0] a;
  if (Multiplexed) begin : gen_mux
    td_operand_mux #(.Width(Width)) u_mux (
      .staged_i(a_staged_i), .sel_i, .valid_i, .operands_o(a)
    );
  end else begin : gen_direct
    assign a = a_staged_i[0 +: Lanes*Width];
    logic unused;
    assign unused = ^{sel_i, valid_i, a_staged_i};
  end

  logic [Lanes*AccW-1:0] product, product_q;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    fp_mul #(.ExpW(ExpW), .ManIn(ManIn), .ManOut(ManAcc)) u_mul (
      .a_i(a[l*Width +: Width]), .b_i(b_i[l*Width +: Width]), .product_o(product[l*AccW +: AccW])
    );
  end
  always_ff @(posedge clk_i) begin
    if (enable_i) product_q <= product;
  end

  logic [AccW-1:0] tree, acc_q, acc_sum;
  fp_adder_tree #(.Inputs(Lanes), .ExpW(ExpW), .Man(ManAcc)) u_tree (
    .clk_i, .enable_i, .terms_i(product_q), .sum_o(tree)
  );
  fp_add #(.ExpW(ExpW), .Man(ManAcc)) u_acc (.a_i(acc_q), .b_i(tree), .sum_o(acc_sum));

  // What belongs to the numbers in each stage.
  logic [Stages-1:0] issue_q, first_q, last_q;
  logic              done_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      issue_q <= '0;
      first_q <= '0;
      last_q  <= '0;
      done_q  <= 1'b0;
    end else if (enable_i) begin
      issue_q <= Stages'({issue_q, issue_i});
      first_q <= Stages'({first_q, first_i});
      last_q  <= Stages'({last_q, last_i});
      done_q  <= issue_q[Stages-1] & last_q[Stages-1];
    end
  end
  always_ff @(posedge clk_i) begin
    if (enable_i && issue_q[Stages-1]) acc_q <= first_q[Stages-1] ? tree : acc_sum;
  end

  assign acc_o  = acc_q;
  assign done_o = done_q;
endmodule
