// SPDX-License-Identifier: Apache-2.0
// Simulation model in place of fp/fp_mul.sv, for designs whose multipliers would take most of the simulation's time: the CPU
// multiplies. rtl_fp_test shows that the real one gives the same bits.
module fp_mul #(
  parameter int unsigned  ExpW   = 8,
  parameter int unsigned  ManIn  = 23,
  parameter int unsigned  ManOut = 23,
  parameter int unsigned  Regs   = 0,
  localparam int unsigned InW    = ExpW + ManIn + 1,
  localparam int unsigned OutW   = ExpW + ManOut + 1
) (
  input  logic            clk_i,     // clock; not used
  input  logic            enable_i,  // not used
  input  logic [InW-1:0]  a_i,       // factor
  input  logic [InW-1:0]  b_i,       // factor
  output logic [OutW-1:0] product_o  // their product
);
  import "DPI-C" pure function int unsigned lacuna_fp_mul(input int unsigned a, input int unsigned b);
  assign product_o = lacuna_fp_mul(32'(a_i) << (32 - InW), 32'(b_i) << (32 - InW));
  logic unused;
  assign unused = ^{clk_i, enable_i};
  if (Regs != 0 || OutW != 32 || ExpW != 8 || InW > 32) $error("fp_mul: FP32 products without registers");
endmodule
