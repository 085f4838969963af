// SPDX-License-Identifier: Apache-2.0
// Floating-point adder, round to nearest even. Combinational. Denormals and NaN as in fp_mul.
module fp_add #(
  parameter int unsigned ExpW = 8,  // exponent bits
  parameter int unsigned Man  = 23  // fraction bits
) (
  input  logic [ExpW+Man:0] a_i,   // one term
  input  logic [ExpW+Man:0] b_i,   // the other
  output logic [ExpW+Man:0] sum_o  // their sum, rounded to nearest even
);
  localparam int unsigned SigW = Man + 4;  // hidden bit, fraction, guard, round and sticky
  localparam int unsigned LzW  = $clog2(SigW + 1);
  localparam logic [ExpW-1:0] Ones = {ExpW{1'b1}};

  // Operands with denormals flushed; `big` has the larger magnitude.
  logic [ExpW+Man:0]   a, b, big;
  logic [ExpW+Man-1:0] small_op;  // without its sign: `subtract` says what that means
  logic                swap, subtract;
  assign a        = a_i[Man +: ExpW] == '0 ? {a_i[ExpW+Man], {(ExpW+Man){1'b0}}} : a_i;
  assign b        = b_i[Man +: ExpW] == '0 ? {b_i[ExpW+Man], {(ExpW+Man){1'b0}}} : b_i;
  assign swap     = b[ExpW+Man-1:0] > a[ExpW+Man-1:0];
  assign big      = swap ? b : a;
  assign small_op = swap ? a[ExpW+Man-1:0] : b[ExpW+Man-1:0];
  assign subtract = a[ExpW+Man] ^ b[ExpW+Man];

  // Align: what is shifted out of the small operand is kept as a sticky bit.
  logic [ExpW-1:0] distance;
  logic [SigW-1:0] big_sig, small_sig, shifted, lost, aligned;
  assign distance  = big[Man +: ExpW] - small_op[Man +: ExpW];
  assign big_sig   = {big[Man +: ExpW] != '0, big[Man-1:0], 3'b000};
  assign small_sig = {small_op[Man +: ExpW] != '0, small_op[Man-1:0], 3'b000};
  assign shifted   = small_sig >> distance;
  assign lost      = small_sig & ~({SigW{1'b1}} << distance);
  assign aligned   = {shifted[SigW-1:1], shifted[0] | (|lost)};

  logic [SigW:0] total;
  assign total = subtract ? {1'b0, big_sig} - {1'b0, aligned} : {1'b0, big_sig} + {1'b0, aligned};

  // Normalise: one place to the right after a carry, else left by the leading zeros.
  logic [LzW-1:0]  zeros;
  logic [SigW-1:0] norm;
  always_comb begin
    zeros = LzW'(SigW);
    for (int unsigned i = 0; i < SigW; i++) begin
      if (total[i]) zeros = LzW'(SigW - 1 - i);
    end
  end
  assign norm = total[SigW] ? {total[SigW:2], total[1] | total[0]} : total[SigW-1:0] << zeros;

  logic            up;
  logic [Man:0]    rounded;
  logic [ExpW+1:0] exp;
  assign up      = norm[2] & (norm[1] | norm[0] | norm[3]);
  assign rounded = {1'b0, norm[SigW-2:3]} + (Man+1)'(up);
  assign exp     = {2'b00, big[Man +: ExpW]} + (ExpW+2)'(rounded[Man]) +
                   (total[SigW] ? (ExpW+2)'(1) : (ExpW+2)'(0) - (ExpW+2)'(zeros));

  logic big_top, small_top, nan, cancelled, tiny;
  assign big_top   = big[Man +: ExpW] == Ones;
  assign small_top = small_op[Man +: ExpW] == Ones;
  assign nan       = (big_top & (|big[Man-1:0])) | (small_top & (|small_op[Man-1:0])) | (big_top & small_top & subtract);
  assign cancelled = total == '0;
  assign tiny      = exp[ExpW+1] | (exp == '0);

  always_comb begin
    if (nan) sum_o = {1'b0, Ones, 1'b1, {(Man-1){1'b0}}};
    else if (big_top) sum_o = big;
    else if (cancelled) sum_o = {a[ExpW+Man] & b[ExpW+Man], {(ExpW+Man){1'b0}}};
    else if (tiny) sum_o = {big[ExpW+Man], {(ExpW+Man){1'b0}}};
    else if (exp >= (ExpW+2)'(Ones)) sum_o = {big[ExpW+Man], Ones, {Man{1'b0}}};
    else sum_o = {big[ExpW+Man], exp[ExpW-1:0], rounded[Man-1:0]};
  end

  logic unused;
  assign unused = ^{norm[SigW-1]};
`ifndef SYNTHESIS
  if (ExpW < 2 || Man < 1) $error("fp_add: ExpW must be at least 2 and Man at least 1");
`endif
endmodule
