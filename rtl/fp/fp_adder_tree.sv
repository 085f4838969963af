// SPDX-License-Identifier: Apache-2.0
// Sum of `Inputs` floating-point numbers: neighbours first, one register per level and Regs inside its adders. Latency
// $clog2(Inputs) * (1 + Regs) cycles.
module fp_adder_tree #(
  parameter int unsigned Inputs = 16,
  parameter int unsigned ExpW   = 8,
  parameter int unsigned Man    = 23,
  parameter int unsigned Regs   = 0  // of an adder; see fp_add
) (
  input  logic                           clk_i,     // clock
  input  logic                           enable_i,  // the pipe moves
  input  logic [Inputs*(ExpW+Man+1)-1:0] terms_i,   // the terms, term n at n*(ExpW+Man+1)
  output logic [ExpW+Man:0]              sum_o      // their sum
);
  localparam int unsigned Width  = ExpW + Man + 1;
  localparam int unsigned Levels = $clog2(Inputs);
  localparam int unsigned Padded = 1 << Levels;

  // Level v has Padded >> v numbers; those of all levels lie behind each other.
  // verilator lint_off UNOPTFLAT
  logic [(2*Padded-1)*Width-1:0] node;
  // verilator lint_on UNOPTFLAT
  if (Padded > Inputs) begin : gen_pad
    assign node[0 +: Padded*Width] = {{((Padded-Inputs)*Width){1'b0}}, terms_i};
  end else begin : gen_no_pad
    assign node[0 +: Padded*Width] = terms_i;
  end

  for (genvar v = 0; v < Levels; v++) begin : gen_level
    localparam int unsigned From = 2 * Padded - (Padded >> v) * 2;
    localparam int unsigned To   = 2 * Padded - (Padded >> v);
    for (genvar i = 0; i < (Padded >> (v + 1)); i++) begin : gen_node
      logic [Width-1:0] sum, sum_q;
      fp_add #(.ExpW(ExpW), .Man(Man), .Regs(Regs)) u_add (
        .clk_i, .enable_i, .a_i(node[(From + 2*i)*Width +: Width]), .b_i(node[(From + 2*i + 1)*Width +: Width]), .sum_o(sum)
      );
      always_ff @(posedge clk_i) begin
        if (enable_i) sum_q <= sum;
      end
      assign node[(To + i)*Width +: Width] = sum_q;
    end
  end

  if (Levels == 0) begin : gen_no_register
    logic unused;
    assign unused = ^{clk_i, enable_i};
  end

  assign sum_o = node[(2*Padded-2)*Width +: Width];
`ifndef SYNTHESIS
  if (Inputs < 1) $error("fp_adder_tree: Inputs must be at least 1");
`endif
endmodule
