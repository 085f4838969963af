// SPDX-License-Identifier: Apache-2.0
// Floating-point multiplier, round to nearest even. Combinational.
// Denormal operands count as zeros and denormal results become zeros of their sign (tininess is judged after rounding), as
// x86 does with DAZ and FTZ set. NaN results are the quiet NaN with a clear sign.
module fp_mul #(
  parameter int unsigned ExpW   = 8,   // exponent bits of operands and result
  parameter int unsigned ManIn  = 23,  // fraction bits of the operands
  parameter int unsigned ManOut = 23   // of the result; from 2*ManIn + 1 on the product is exact
) (
  input  logic [ExpW+ManIn:0]  a_i,       // one factor
  input  logic [ExpW+ManIn:0]  b_i,       // the other
  output logic [ExpW+ManOut:0] product_o  // their product, rounded to nearest even
);
  localparam int unsigned ProdW = 2 * ManIn + 2;
  localparam int unsigned WideW = ProdW + ManOut + 2;  // always enough bits to round from
  localparam int unsigned SumW  = ExpW + 2;            // signed exponents
  localparam logic [ExpW-1:0] Ones = {ExpW{1'b1}};
  localparam logic [SumW-1:0] Bias = {3'b000, {(ExpW-1){1'b1}}};

  logic sign, a_zero, b_zero, a_top, b_top, nan, inf, zero;
  assign sign   = a_i[ExpW+ManIn] ^ b_i[ExpW+ManIn];
  assign a_zero = a_i[ManIn +: ExpW] == '0;
  assign b_zero = b_i[ManIn +: ExpW] == '0;
  assign a_top  = a_i[ManIn +: ExpW] == Ones;
  assign b_top  = b_i[ManIn +: ExpW] == Ones;
  assign nan    = (a_top & (|a_i[ManIn-1:0])) | (b_top & (|b_i[ManIn-1:0])) | (a_top & b_zero) | (b_top & a_zero);
  assign inf    = a_top | b_top;
  assign zero   = a_zero | b_zero;

  // 1.x times 1.y lies in [1, 4).
  logic [ProdW-1:0] prod, norm;
  assign prod = ProdW'({1'b1, a_i[ManIn-1:0]}) * ProdW'({1'b1, b_i[ManIn-1:0]});
  assign norm = prod[ProdW-1] ? prod : prod << 1;

  logic [WideW-1:0]  wide;
  logic [ManOut-1:0] man;
  logic              guard, sticky, up;
  logic [ManOut:0]   rounded;
  assign wide    = {norm, {(ManOut+2){1'b0}}};
  assign man     = wide[WideW-2 -: ManOut];
  assign guard   = wide[WideW-2-ManOut];
  assign sticky  = |wide[WideW-3-ManOut:0];
  assign up      = guard & (sticky | man[0]);
  assign rounded = {1'b0, man} + (ManOut+1)'(up);

  logic [SumW-1:0] exp;
  logic            tiny, huge_exp;
  assign exp = SumW'(a_i[ManIn +: ExpW]) + SumW'(b_i[ManIn +: ExpW]) - Bias + SumW'(prod[ProdW-1]) +
               SumW'(rounded[ManOut]);
  assign tiny     = exp[SumW-1] | (exp == '0);
  assign huge_exp = ~exp[SumW-1] & (exp >= SumW'(Ones));

  always_comb begin
    if (nan) product_o = {1'b0, Ones, 1'b1, {(ManOut-1){1'b0}}};
    else if (inf || (huge_exp && !zero)) product_o = {sign, Ones, {ManOut{1'b0}}};
    else if (zero || tiny) product_o = {sign, {(ExpW+ManOut){1'b0}}};
    else product_o = {sign, exp[ExpW-1:0], rounded[ManOut-1:0]};
  end

  logic unused;
  assign unused = ^{wide[WideW-1]};
`ifndef SYNTHESIS
  if (ExpW < 2 || ManIn < 1 || ManOut < 1) $error("fp_mul: ExpW must be at least 2, ManIn and ManOut at least 1");
`endif
endmodule
