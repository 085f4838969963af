// SPDX-License-Identifier: Apache-2.0
// A staging buffer with variable advance [TensorDash §3.1, Fig. 8]: Depth rows of Bits bits. When told to move it drops its
// `advance` oldest rows and takes as many of the offered rows as `load` allows; places left over become zero.
module td_staging #(
  parameter int unsigned  Depth = td_conn_pkg::Depth,
  parameter int unsigned  Bits  = td_conn_pkg::Lanes * 32,  // of a row
  parameter bit           Reset = 1'b0,  // begin with zeros; not needed where the first move fills the whole buffer
  localparam int unsigned AdvW  = $clog2(Depth + 1)
) (
  input  logic                  clk_i,      // clock
  input  logic                  rst_ni,     // asynchronous reset, active low
  input  logic                  move_i,     // advance this cycle
  input  logic [AdvW-1:0]       advance_i,  // 1..Depth
  input  logic [Depth-1:0]      load_i,     // offered rows that enter; a prefix: 0..01..1
  input  logic [Depth*Bits-1:0] offered_i,  // the next rows, the oldest lowest
  input  logic [Depth*Bits-1:0] staged_i,   // what to keep: staged_o, or staged_o with bits cleared (a scheduler's window)
  output logic [Depth*Bits-1:0] staged_o    // row 0 (the oldest) lowest
);
  logic [Depth*Bits-1:0] staged_q, staged_d;

  always_comb begin
    staged_d = '0;
    for (int unsigned s = 0; s < Depth; s++) begin
      for (int unsigned a = 1; a <= Depth; a++) begin
        if (advance_i == AdvW'(a)) begin
          if (s + a < Depth) staged_d[s*Bits +: Bits] = staged_i[((s + a) % Depth)*Bits +: Bits];
          else if (load_i[(s + a) % Depth]) begin
            staged_d[s*Bits +: Bits] = offered_i[((s + a) % Depth)*Bits +: Bits];
          end
        end
      end
    end
  end

  if (Reset) begin : gen_reset
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) staged_q <= '0;
      else if (move_i) staged_q <= staged_d;
    end
  end else begin : gen_no_reset
    always_ff @(posedge clk_i) begin
      if (move_i) staged_q <= staged_d;
    end
    logic unused_reset;
    assign unused_reset = rst_ni;
  end

  assign staged_o = staged_q;

`ifndef SYNTHESIS
  // The comparison is constant where Depth + 1 is a power of two.
  // verilator lint_off CMPCONST
  // Nothing may be dropped that was not told to go: an advance is 1..Depth, and loads are a prefix.
  AdvanceInRange : assert property (@(posedge clk_i) disable iff (!rst_ni)
      !move_i || (advance_i >= 1 && advance_i <= AdvW'(Depth)));
  LoadsArePrefix : assert property (@(posedge clk_i) disable iff (!rst_ni)
      (load_i & (load_i + 1'b1)) == '0);
  // verilator lint_on CMPCONST
  if (Depth < 1 || Bits < 1) $error("td_staging: Depth and Bits must be at least 1");
`endif
endmodule
