// SPDX-License-Identifier: Apache-2.0
// The multiplexers in front of one operand of a PE's multipliers [TensorDash §3.1, Fig. 8]: each lane reads the staged
// value its movement names, or +0 while it has nothing to multiply. Combinational.
module td_operand_mux #(
  parameter int unsigned  Width = 32,
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned Moves = td_conn_pkg::Moves,
  localparam int unsigned SelW  = td_conn_pkg::SelW
) (
  input  logic [Depth*Lanes*Width-1:0] staged_i,    // row s, lane l at (s*Lanes + l)*Width
  input  logic [Lanes*SelW-1:0]        sel_i,       // MS
  input  logic [Lanes-1:0]             valid_i,     // lanes that take a value
  output logic [Lanes*Width-1:0]       operands_o   // lane l at l*Width
);
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    always_comb begin
      operands_o[l*Width +: Width] = '0;
      for (int unsigned m = 0; m < Moves; m++) begin
        if (valid_i[l] && sel_i[l*SelW +: SelW] == SelW'(m)) begin
          operands_o[l*Width +: Width] = staged_i[td_conn_pkg::place(l, m) * Width +: Width];
        end
      end
    end
  end
endmodule
