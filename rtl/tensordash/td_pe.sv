// SPDX-License-Identifier: Apache-2.0
// A processing element [TensorDash §3.1, Fig. 8]: A multiplexers, multipliers, adder tree and accumulator, one stage each
// (the tree one per level). The B operands come multiplexed from the row. With Multiplexed = 0 it is the baseline's PE.
//
// For a faster clock: OperandReg puts a register behind the multiplexers (that of B is outside), MulRegs and AddRegs put registers into multipliers
// and adders. An accumulator whose adder takes several cycles is as many sums: the n-th of an output's terms goes to sum
// n mod (1 + AddRegs), and a second tree adds the sums when the output is complete. What a PE computes does not depend on
// when its operands come. Latency says how many enabled cycles after issue_i the output is there.
module td_pe #(
  parameter int unsigned  ExpW        = 8,   // exponent bits
  parameter int unsigned  ManIn       = 23,  // fraction bits of operands: 23 for FP32, 7 for bfloat16
  parameter int unsigned  ManAcc      = 23,  // fraction bits of products and sums
  parameter bit           Multiplexed = 1'b1,
  parameter bit           OperandReg  = 1'b0,  // a register behind the multiplexers
  parameter int unsigned  MulRegs     = 0,     // in a multiplier; see fp_mul
  parameter int unsigned  AddRegs     = 0,     // in an adder; see fp_add
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
  input  logic [Lanes*Width-1:0]        b_i,         // B operands of the row; with OperandReg those of the cycle before
  output logic [AccW-1:0]               acc_o,       // the accumulator; with AddRegs the output, while done_o
  output logic                          done_o       // it holds a complete output, for one enabled cycle
);
  localparam int unsigned Sums    = 1 + AddRegs;  // of an accumulator: cycles that an adder takes
  // From issue_i to the accumulator's adder: operands, multipliers, tree.
  localparam int unsigned Stages  = (OperandReg ? 1 : 0) + 1 + MulRegs + $clog2(Lanes) * Sums;
  // From there to done_o: the adder, then the tree over the accumulator's sums.
  localparam int unsigned After   = Sums + $clog2(Sums) * Sums;

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

  logic [Lanes*Width-1:0] a_q;
  fp_cut #(.Bits(Lanes*Width), .Present(OperandReg)) u_operands (.clk_i, .enable_i, .d_i(a), .q_o(a_q));

  logic [Lanes*AccW-1:0] product, product_q;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    fp_mul #(.ExpW(ExpW), .ManIn(ManIn), .ManOut(ManAcc), .Regs(MulRegs)) u_mul (
      .clk_i, .enable_i, .a_i(a_q[l*Width +: Width]), .b_i(b_i[l*Width +: Width]), .product_o(product[l*AccW +: AccW])
    );
  end
  always_ff @(posedge clk_i) begin
    if (enable_i) product_q <= product;
  end

  logic [AccW-1:0] tree;
  fp_adder_tree #(.Inputs(Lanes), .ExpW(ExpW), .Man(ManAcc), .Regs(AddRegs)) u_tree (
    .clk_i, .enable_i, .terms_i(product_q), .sum_o(tree)
  );

  // What belongs to the numbers in each stage; the last ones, at 0, to those at the accumulator's adder.
  logic [Stages-1:0] issue_q, first_q, last_q;
  logic [After-1:0]  done_q;
  logic              add, first, last;
  assign add   = issue_q[Stages-1];
  assign first = first_q[Stages-1];
  assign last  = last_q[Stages-1];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      issue_q <= '0;
      first_q <= '0;
      last_q  <= '0;
      done_q  <= '0;
    end else if (enable_i) begin
      issue_q <= Stages'({issue_q, issue_i});
      first_q <= Stages'({first_q, first_i});
      last_q  <= Stages'({last_q, last_i});
      done_q  <= After'({done_q, add & last});
    end
  end
  assign done_o = done_q[After-1];

  if (AddRegs == 0) begin : gen_one_sum
    logic [AccW-1:0] acc_q, acc_sum;
    fp_add #(.ExpW(ExpW), .Man(ManAcc)) u_acc (.clk_i, .enable_i, .a_i(acc_q), .b_i(tree), .sum_o(acc_sum));
    always_ff @(posedge clk_i) begin
      if (enable_i && add) acc_q <= first ? tree : acc_sum;
    end
    assign acc_o = acc_q;
  end else begin : gen_sums
    localparam logic [AccW-1:0] Nothing = {1'b1, {(AccW-1){1'b0}}};  // -0: x + -0 is x, whatever x is

    // Terms go round the sums. `begun`: sums that hold terms of the output in work.
    logic [Sums-1:0] turn_q, turn, begun_q, begun;
    assign turn  = first ? Sums'(1) : turn_q;
    assign begun = first ? '0 : begun_q;
    always_ff @(posedge clk_i) begin
      if (enable_i && add) begin
        turn_q  <= Sums'({turn, turn[Sums-1]});
        begun_q <= begun | turn;
      end
    end

    logic [Sums*AccW-1:0] sums_q, complete;
    logic [AccW-1:0]      so_far, acc_sum;
    always_comb begin
      so_far = (turn & begun) == '0 ? Nothing : '0;
      for (int unsigned k = 0; k < Sums; k++) begin
        if (turn[k] && begun[k]) so_far = so_far | sums_q[k*AccW +: AccW];
      end
    end
    fp_add #(.ExpW(ExpW), .Man(ManAcc), .Regs(AddRegs)) u_acc (
      .clk_i, .enable_i, .a_i(so_far), .b_i(tree), .sum_o(acc_sum)
    );

    // Stage s of the adder: the sum that its number goes to, if any; and for an output's last term the sums that it has.
    logic [Sums*Sums-1:0] to_q, has_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) to_q <= '0;
      else if (enable_i) to_q <= (Sums*Sums)'({to_q, add ? turn : {Sums{1'b0}}});
    end
    always_ff @(posedge clk_i) begin
      if (enable_i) has_q <= (Sums*Sums)'({has_q, begun | turn});
    end
    for (genvar k = 0; k < Sums; k++) begin : gen_sum
      always_ff @(posedge clk_i) begin
        if (enable_i && to_q[(AddRegs-1)*Sums + k]) sums_q[k*AccW +: AccW] <= acc_sum;
      end
      assign complete[k*AccW +: AccW] = has_q[AddRegs*Sums + k] ? sums_q[k*AccW +: AccW] : Nothing;
    end
    fp_adder_tree #(.Inputs(Sums), .ExpW(ExpW), .Man(ManAcc), .Regs(AddRegs)) u_sums (
      .clk_i, .enable_i, .terms_i(complete), .sum_o(acc_o)
    );
    logic unused;
    assign unused = ^to_q[AddRegs*Sums +: Sums];
  end

`ifndef SYNTHESIS
  logic running_q;  // an output was begun and not ended
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) running_q <= 1'b0;
    else if (enable_i && issue_i) running_q <= ~last_i;
  end
  OutputsStart : assert property (@(posedge clk_i) disable iff (!rst_ni) !enable_i || !(issue_i && first_i) || !running_q);
  OutputsEnd : assert property (@(posedge clk_i) disable iff (!rst_ni) !enable_i || !issue_i || first_i || running_q);
`endif
endmodule
