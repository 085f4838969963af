// SPDX-License-Identifier: Apache-2.0
// A place where a unit may be cut into stages: a register if Present, else wires.
module fp_cut #(
  parameter int unsigned Bits    = 1,
  parameter bit          Present = 1'b1
) (
  input  logic            clk_i,     // clock
  input  logic            enable_i,  // the pipe moves
  input  logic [Bits-1:0] d_i,       // what enters
  output logic [Bits-1:0] q_o        // the same, a cycle later if Present
);
  if (Present) begin : gen_register
    logic [Bits-1:0] held_q;
    always_ff @(posedge clk_i) begin
      if (enable_i) held_q <= d_i;
    end
    assign q_o = held_q;
  end else begin : gen_wires
    assign q_o = d_i;
    logic unused;
    assign unused = ^{clk_i, enable_i};
  end
endmodule
