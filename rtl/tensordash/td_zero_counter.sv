// SPDX-License-Identifier: Apache-2.0
// Counts the zeros of a tensor as it is produced and says whether skipping would pay in the next layer [TensorDash §3.5].
module td_zero_counter #(
  parameter int unsigned Lanes  = 16,  // values per block
  parameter int unsigned Width  = 32,
  parameter int unsigned CountW = 32   // bits of the counters; they stop at their largest value
) (
  input  logic                   clk_i,        // clock
  input  logic                   rst_ni,       // asynchronous reset, active low
  input  logic                   clear_i,      // a new tensor begins, with this cycle's block if there is one
  input  logic                   valid_i,      // a block is there
  input  logic [Lanes*Width-1:0] block_i,      // values of the block
  input  logic [Lanes-1:0]       present_i,    // lanes that hold an element
  input  logic [15:0]            threshold_i,  // share of zeros below which skipping is not worth it, in 1/65536
  output logic [CountW-1:0]      zeros_o,      // zeros so far
  output logic [CountW-1:0]      values_o,     // values so far
  output logic                   gate_o        // the share is below the threshold: bypass the next use of the tensor
);
  localparam int unsigned SumW = $clog2(Lanes + 1);
  logic [Lanes-1:0]  effectual, is_zero;
  logic [SumW-1:0]   zeros, values;
  logic [CountW-1:0] zeros_q, values_q;

  td_zero_detect #(.Count(Lanes), .Width(Width)) u_zero (.values_i(block_i), .effectual_o(effectual));

  assign is_zero = present_i & ~effectual;
  always_comb begin
    zeros  = '0;
    values = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      zeros  = zeros + SumW'(is_zero[l]);
      values = values + SumW'(present_i[l]);
    end
  end

  // Both counters stop together, so that their ratio stays true of what was counted.
  logic full;
  assign full = values_q > {CountW{1'b1}} - CountW'(Lanes);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      zeros_q  <= '0;
      values_q <= '0;
    end else if (clear_i) begin
      zeros_q  <= valid_i ? CountW'(zeros) : '0;
      values_q <= valid_i ? CountW'(values) : '0;
    end else if (valid_i && !full) begin
      zeros_q  <= zeros_q + CountW'(zeros);
      values_q <= values_q + CountW'(values);
    end
  end

  assign zeros_o  = zeros_q;
  assign values_o = values_q;
  assign gate_o   = {zeros_q, 16'b0} < (CountW+16)'(values_q) * (CountW+16)'(threshold_i);
`ifndef SYNTHESIS
  if (Lanes < 1 || CountW < $clog2(Lanes + 1)) $error("td_zero_counter: Lanes must be at least 1, and CountW hold their number");
`endif
endmodule
