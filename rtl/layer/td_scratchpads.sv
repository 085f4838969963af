// SPDX-License-Identifier: Apache-2.0
// The scratchpads of one operand: one for each line of PEs, of Depth banks that are read together [TensorDash §3.1]. The steps of a
// stream lie in the banks by turns, the first in bank 0.
module td_scratchpads #(
  parameter int unsigned  Lines  = 4,
  parameter int unsigned  RowW   = 512,  // bits of a step
  parameter int unsigned  SpaceW = 7,    // bits of a row's address
  localparam int unsigned Depth  = td_conn_pkg::Depth,
  localparam int unsigned AdvW   = td_conn_pkg::AdvW
) (
  input  logic                        clk_i,    // clock
  input  logic [Lines-1:0]            write_i,  // scratchpads that are written
  input  logic [AdvW-1:0]             wbank_i,  // in this bank
  input  logic [SpaceW-1:0]           wrow_i,   // at this row
  input  logic [Lines*RowW-1:0]       steps_i,  // with these steps
  input  logic                        read_i,   // Depth steps of each are read
  input  logic [Depth*SpaceW-1:0]     rrow_i,   // rows of the banks
  input  logic [AdvW-1:0]             first_i,  // bank of the first of the steps read before
  output logic [Lines*Depth*RowW-1:0] steps_o   // these steps, in order; line l at l*Depth*RowW
);
  logic [Lines*Depth*RowW-1:0] words;  // by bank
  for (genvar l = 0; l < Lines; l++) begin : gen_line
    for (genvar b = 0; b < Depth; b++) begin : gen_bank
      ram_1r1w #(.Words(2**SpaceW), .Parts(1), .PartBits(RowW)) u_ram (
        .clk_i, .read_i, .raddr_i(rrow_i[b*SpaceW +: SpaceW]), .rdata_o(words[(l*Depth + b)*RowW +: RowW]),
        .write_i(write_i[l] & (wbank_i == AdvW'(b))), .waddr_i(wrow_i), .wdata_i(steps_i[l*RowW +: RowW])
      );
    end
  end

  always_comb begin
    steps_o = '0;
    for (int unsigned l = 0; l < Lines; l++) begin
      for (int unsigned s = 0; s < Depth; s++) begin
        for (int unsigned b = 0; b < Depth; b++) begin
          if (first_i == AdvW'(b)) steps_o[(l*Depth + s)*RowW +: RowW] = words[(l*Depth + (b + s) % Depth)*RowW +: RowW];
        end
      end
    end
  end
endmodule
