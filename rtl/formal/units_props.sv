// SPDX-License-Identifier: Apache-2.0
// Multiplier and adder with registers inside give what those without give, as many cycles later, and stand still when the
// pipe does. In a format of 3 exponent and 3
// fraction bits, which has every kind of number.
module units_props #(
  parameter int unsigned MulRegs = `MUL_REGS,
  parameter int unsigned AddRegs = `ADD_REGS
) (
  input logic       clk_i,
  input logic       enable_i,
  input logic [6:0] a_i,
  input logic [6:0] b_i
);
  logic [6:0] product, product_now, sum, sum_now;
  fp_mul #(.ExpW(3), .ManIn(3), .ManOut(3), .Regs(MulRegs)) u_mul (.clk_i, .enable_i, .a_i, .b_i, .product_o(product));
  fp_mul #(.ExpW(3), .ManIn(3), .ManOut(3)) u_mul_now (.clk_i, .enable_i, .a_i, .b_i, .product_o(product_now));
  fp_add #(.ExpW(3), .Man(3), .Regs(AddRegs)) u_add (.clk_i, .enable_i, .a_i, .b_i, .sum_o(sum));
  fp_add #(.ExpW(3), .Man(3)) u_add_now (.clk_i, .enable_i, .a_i, .b_i, .sum_o(sum_now));

  // Results without registers, delayed; `age`: enabled cycles so far, up to 4.
  logic [4*7-1:0] products_q, sums_q;
  logic [2:0]     age_q = '0;
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      products_q <= {products_q[3*7-1:0], product_now};
      sums_q     <= {sums_q[3*7-1:0], sum_now};
      if (age_q < 4) age_q <= age_q + 1'b1;
    end
  end
  always_comb begin
    if (age_q >= MulRegs) assert (product == products_q[(MulRegs-1)*7 +: 7]);
    if (age_q >= AddRegs) assert (sum == sums_q[(AddRegs-1)*7 +: 7]);
  end
endmodule
