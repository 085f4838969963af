// SPDX-License-Identifier: Apache-2.0
// Floating-point multiplier, round to nearest even, with Regs registers inside: the result belongs to the operands of Regs
// cycles ago. The cuts lie behind the partial products' tree (from one register on) and before rounding (two).
// Denormal operands count as zeros and denormal results become zeros of their sign (tininess is judged after rounding), as
// x86 does with DAZ and FTZ set. NaN results are the quiet NaN with a clear sign.
module fp_mul #(
  parameter int unsigned ExpW   = 8,   // exponent bits of operands and result
  parameter int unsigned ManIn  = 23,  // fraction bits of the operands
  parameter int unsigned ManOut = 23,  // of the result; from 2*ManIn + 1 on the product is exact
  parameter int unsigned Regs   = 0    // registers inside, 0..2
) (
  input  logic                 clk_i,     // clock
  input  logic                 enable_i,  // the pipe moves
  input  logic [ExpW+ManIn:0]  a_i,       // one factor
  input  logic [ExpW+ManIn:0]  b_i,       // the other
  output logic [ExpW+ManOut:0] product_o  // their product, rounded to nearest even
);
  localparam int unsigned SigW  = ManIn + 1;
  localparam int unsigned ProdW = 2 * SigW;
  localparam int unsigned WideW = ProdW + ManOut + 2;  // always enough bits to round from
  localparam int unsigned SumW  = ExpW + 2;            // signed exponents
  localparam logic [ExpW-1:0] Ones = {ExpW{1'b1}};
  localparam logic [SumW-1:0] Bias = {3'b000, {(ExpW-1){1'b1}}};

  // What needs only exponents, and zeros, infinities and NaN.
  logic            sign, a_zero, b_zero, a_top, b_top, nan, inf, zero;
  logic [SumW-1:0] exp_sum;
  assign sign    = a_i[ExpW+ManIn] ^ b_i[ExpW+ManIn];
  assign a_zero  = a_i[ManIn +: ExpW] == '0;
  assign b_zero  = b_i[ManIn +: ExpW] == '0;
  assign a_top   = a_i[ManIn +: ExpW] == Ones;
  assign b_top   = b_i[ManIn +: ExpW] == Ones;
  assign nan     = (a_top & (|a_i[ManIn-1:0])) | (b_top & (|b_i[ManIn-1:0])) | (a_top & b_zero) | (b_top & a_zero);
  assign inf     = a_top | b_top;
  assign zero    = a_zero | b_zero;
  assign exp_sum = SumW'(a_i[ManIn +: ExpW]) + SumW'(b_i[ManIn +: ExpW]) - Bias;

  // 1.x times 1.y lies in [1, 4). With a register behind the tree of partial products the sum comes in two parts.
  logic [ProdW-1:0] part, carry, part_q, carry_q, prod;
  if (Regs > 0) begin : gen_parts
    fp_partial_sums #(.Bits(SigW)) u_tree (
      .a_i({1'b1, a_i[ManIn-1:0]}), .b_i({1'b1, b_i[ManIn-1:0]}), .sum_o(part), .carry_o(carry)
    );
    assign prod = part_q + carry_q;
  end else begin : gen_whole
    assign part  = ProdW'({1'b1, a_i[ManIn-1:0]}) * ProdW'({1'b1, b_i[ManIn-1:0]});
    assign carry = '0;
    assign prod  = part_q;
    logic unused;
    assign unused = ^carry_q;
  end

  logic            sign_q, nan_q, inf_q, zero_q;
  logic [SumW-1:0] exp_sum_q;
  fp_cut #(.Bits(2*ProdW + SumW + 4), .Present(Regs > 0)) u_behind_tree (
    .clk_i, .enable_i, .d_i({part, carry, exp_sum, sign, nan, inf, zero}),
    .q_o({part_q, carry_q, exp_sum_q, sign_q, nan_q, inf_q, zero_q})
  );

  logic [ProdW-1:0]  norm;
  logic [WideW-1:0]  wide;
  logic [ManOut-1:0] man;
  logic              guard, sticky;
  assign norm   = prod[ProdW-1] ? prod : prod << 1;
  assign wide   = {norm, {(ManOut+2){1'b0}}};
  assign man    = wide[WideW-2 -: ManOut];
  assign guard  = wide[WideW-2-ManOut];
  assign sticky = |wide[WideW-3-ManOut:0];

  logic [ManOut-1:0] man_q;
  logic              guard_q, sticky_q, nan_r, inf_r, zero_r, sign_r;
  logic [SumW-1:0]   exp_r;
  fp_cut #(.Bits(ManOut + SumW + 6), .Present(Regs > 1)) u_before_rounding (
    .clk_i, .enable_i, .d_i({man, guard, sticky, exp_sum_q + SumW'(prod[ProdW-1]), sign_q, nan_q, inf_q, zero_q}),
    .q_o({man_q, guard_q, sticky_q, exp_r, sign_r, nan_r, inf_r, zero_r})
  );

  logic              up, tiny, huge_exp;
  logic [ManOut:0]   rounded;
  logic [SumW-1:0]   exp;
  assign up       = guard_q & (sticky_q | man_q[0]);
  assign rounded  = {1'b0, man_q} + (ManOut+1)'(up);
  assign exp      = exp_r + SumW'(rounded[ManOut]);
  assign tiny     = exp[SumW-1] | (exp == '0);
  assign huge_exp = ~exp[SumW-1] & (exp >= SumW'(Ones));

  always_comb begin
    if (nan_r) product_o = {1'b0, Ones, 1'b1, {(ManOut-1){1'b0}}};
    else if (inf_r || (huge_exp && !zero_r)) product_o = {sign_r, Ones, {ManOut{1'b0}}};
    else if (zero_r || tiny) product_o = {sign_r, {(ExpW+ManOut){1'b0}}};
    else product_o = {sign_r, exp[ExpW-1:0], rounded[ManOut-1:0]};
  end

  logic unused_top;
  assign unused_top = wide[WideW-1];
`ifndef SYNTHESIS
  if (ExpW < 2 || ManIn < 1 || ManOut < 1) $error("fp_mul: ExpW must be at least 2, ManIn and ManOut at least 1");
  if (Regs > 2) $error("fp_mul: Regs must be at most 2");
  ResultIsClean : assert property (@(posedge clk_i) product_o[ManOut +: ExpW] != '0 || product_o[ManOut-1:0] == '0);
  OneNan : assert property (@(posedge clk_i) product_o[ManOut +: ExpW] != Ones || product_o[ManOut-1:0] == '0 ||
                            product_o == {1'b0, Ones, 1'b1, {(ManOut-1){1'b0}}});
`endif
endmodule
