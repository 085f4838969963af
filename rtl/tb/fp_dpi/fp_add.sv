// SPDX-License-Identifier: Apache-2.0
// Simulation model in place of fp/fp_add.sv; see fp_mul.sv in this folder.
module fp_add #(
  parameter int unsigned  ExpW  = 8,
  parameter int unsigned  Man   = 23,
  parameter int unsigned  Regs  = 0,
  localparam int unsigned Width = ExpW + Man + 1
) (
  input  logic             clk_i,     // clock; not used
  input  logic             enable_i,  // not used
  input  logic [Width-1:0] a_i,       // summand
  input  logic [Width-1:0] b_i,       // summand
  output logic [Width-1:0] sum_o      // their sum
);
  import "DPI-C" pure function int unsigned lacuna_fp_add(input int unsigned a, input int unsigned b);
  assign sum_o = lacuna_fp_add(a_i, b_i);
  logic unused;
  assign unused = ^{clk_i, enable_i};
  if (Regs != 0 || Width != 32) $error("fp_add: FP32 sums without registers");
endmodule
