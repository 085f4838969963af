// SPDX-License-Identifier: Apache-2.0
// Floating-point adder, round to nearest even, with Regs registers inside: the result belongs to the operands of Regs cycles
// ago. The cuts lie behind the sum (from one register on), behind the ordering of the operands (two) and before rounding
// (three). Denormals and NaN as in fp_mul.
module fp_add #(
  parameter int unsigned ExpW = 8,   // exponent bits
  parameter int unsigned Man  = 23,  // fraction bits
  parameter int unsigned Regs = 0    // registers inside, 0..3
) (
  input  logic              clk_i,     // clock
  input  logic              enable_i,  // the pipe moves
  input  logic [ExpW+Man:0] a_i,       // one term
  input  logic [ExpW+Man:0] b_i,       // the other
  output logic [ExpW+Man:0] sum_o      // their sum, rounded to nearest even
);
  localparam int unsigned SigW = Man + 4;  // hidden bit, fraction, guard, round and sticky
  localparam int unsigned LzW  = $clog2(SigW + 1);
  localparam logic [ExpW-1:0] Ones = {ExpW{1'b1}};

  // Operands with denormals flushed; the larger magnitude is `big`.
  logic [ExpW+Man:0] a, b;
  logic              swap;
  assign a    = a_i[Man +: ExpW] == '0 ? {a_i[ExpW+Man], {(ExpW+Man){1'b0}}} : a_i;
  assign b    = b_i[Man +: ExpW] == '0 ? {b_i[ExpW+Man], {(ExpW+Man){1'b0}}} : b_i;
  assign swap = b_i[ExpW+Man-1:0] > a_i[ExpW+Man-1:0];  // flushing changes no order that matters

  logic [ExpW+Man:0]   big;
  logic [ExpW+Man-1:0] small_op;  // without its sign: `subtract` says what that means
  logic                subtract, negative;  // `negative`: both are
  logic [ExpW-1:0]     distance;
  fp_cut #(.Bits(2*(ExpW+Man) + 3 + ExpW), .Present(Regs > 1)) u_behind_order (
    .clk_i, .enable_i,
    .d_i({swap ? b : a, swap ? a[ExpW+Man-1:0] : b[ExpW+Man-1:0], a[ExpW+Man] ^ b[ExpW+Man], a[ExpW+Man] & b[ExpW+Man],
          swap ? b[Man +: ExpW] - a[Man +: ExpW] : a[Man +: ExpW] - b[Man +: ExpW]}),
    .q_o({big, small_op, subtract, negative, distance})
  );

  // Align: what is shifted out of the small operand is kept as a sticky bit.
  logic [SigW-1:0] big_sig, small_sig, shifted, lost, aligned;
  assign big_sig   = {big[Man +: ExpW] != '0, big[Man-1:0], 3'b000};
  assign small_sig = {small_op[Man +: ExpW] != '0, small_op[Man-1:0], 3'b000};
  assign shifted   = small_sig >> distance;
  assign lost      = small_sig & ~({SigW{1'b1}} << distance);
  assign aligned   = {shifted[SigW-1:1], shifted[0] | (|lost)};

  logic big_top, small_top, nan;
  assign big_top   = big[Man +: ExpW] == Ones;
  assign small_top = small_op[Man +: ExpW] == Ones;
  assign nan       = (big_top & (|big[Man-1:0])) | (small_top & (|small_op[Man-1:0])) | (big_top & small_top & subtract);

  logic [SigW:0]   total;
  logic [ExpW-1:0] big_exp;
  logic            sign, inf_q, nan_q, negative_q;
  fp_cut #(.Bits(SigW + 1 + ExpW + 4), .Present(Regs > 0)) u_behind_sum (
    .clk_i, .enable_i,
    .d_i({subtract ? {1'b0, big_sig} - {1'b0, aligned} : {1'b0, big_sig} + {1'b0, aligned}, big[Man +: ExpW], big[ExpW+Man],
          big_top, nan, negative}),
    .q_o({total, big_exp, sign, inf_q, nan_q, negative_q})
  );

  // Normalise: one place to the right after a carry, else left by the leading zeros.
  logic [LzW-1:0]  zeros;
  logic [SigW-1:0] norm;
  fp_leading_zeros #(.Bits(SigW)) u_zeros (.number_i(total[SigW-1:0]), .zeros_o(zeros));
  assign norm = total[SigW] ? {total[SigW:2], total[1] | total[0]} : total[SigW-1:0] << zeros;

  logic [Man-1:0]  man;
  logic            up, sign_r, inf_r, nan_r, negative_r, cancelled;
  logic [ExpW+1:0] exp_norm;
  fp_cut #(.Bits(Man + 1 + ExpW + 2 + 5), .Present(Regs > 2)) u_before_rounding (
    .clk_i, .enable_i,
    .d_i({norm[SigW-2:3], norm[2] & (norm[1] | norm[0] | norm[3]),
          {2'b00, big_exp} + (total[SigW] ? (ExpW+2)'(1) : (ExpW+2)'(0) - (ExpW+2)'(zeros)), sign, inf_q, nan_q, negative_q,
          total == '0}),
    .q_o({man, up, exp_norm, sign_r, inf_r, nan_r, negative_r, cancelled})
  );

  logic [Man:0]    rounded;
  logic [ExpW+1:0] exp;
  logic            tiny;
  assign rounded = {1'b0, man} + (Man+1)'(up);
  assign exp     = exp_norm + (ExpW+2)'(rounded[Man]);
  assign tiny    = exp[ExpW+1] | (exp == '0);

  always_comb begin
    if (nan_r) sum_o = {1'b0, Ones, 1'b1, {(Man-1){1'b0}}};
    else if (inf_r) sum_o = {sign_r, Ones, {Man{1'b0}}};
    else if (cancelled) sum_o = {negative_r, {(ExpW+Man){1'b0}}};
    else if (tiny) sum_o = {sign_r, {(ExpW+Man){1'b0}}};
    else if (exp >= (ExpW+2)'(Ones)) sum_o = {sign_r, Ones, {Man{1'b0}}};
    else sum_o = {sign_r, exp[ExpW-1:0], rounded[Man-1:0]};
  end

  logic unused;
  assign unused = norm[SigW-1];
`ifndef SYNTHESIS
  if (ExpW < 2 || Man < 1) $error("fp_add: ExpW must be at least 2 and Man at least 1");
  if (Regs > 3) $error("fp_add: Regs must be at most 3");
  ResultIsClean : assert property (@(posedge clk_i) sum_o[Man +: ExpW] != '0 || sum_o[Man-1:0] == '0);
  OneNan : assert property (@(posedge clk_i) sum_o[Man +: ExpW] != Ones || sum_o[Man-1:0] == '0 ||
                            sum_o == {1'b0, Ones, 1'b1, {(Man-1){1'b0}}});
`endif
endmodule
