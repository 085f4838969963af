// SPDX-License-Identifier: Apache-2.0
// A memory with one port to read and one to write, both synchronous: the data follow in the next cycle and stay until the next
// read. A word is written in parts of PartBits bits. Replace this module by a macro of the technology; a word that is written
// and read in one cycle may read as anything.
module ram_1r1w #(
  parameter int unsigned  Words    = 64,
  parameter int unsigned  Parts    = 1,   // parts of a word that can be written by themselves
  parameter int unsigned  PartBits = 32,
  localparam int unsigned AddrW    = Words > 1 ? $clog2(Words) : 1
) (
  input  logic                      clk_i,      // clock
  input  logic                      read_i,     // a word is read
  input  logic [AddrW-1:0]          raddr_i,    // its address
  output logic [Parts*PartBits-1:0] rdata_o,    // the word read last, from the cycle after read_i on
  input  logic [Parts-1:0]          write_i,    // parts that are written
  input  logic [AddrW-1:0]          waddr_i,    // address of their word
  input  logic [Parts*PartBits-1:0] wdata_i     // the word
);
  logic [Parts*PartBits-1:0] words_q [Words];
  logic [Parts*PartBits-1:0] rdata_q;

  always_ff @(posedge clk_i) begin
    if (read_i) rdata_q <= words_q[raddr_i];
    for (int unsigned p = 0; p < Parts; p++) begin
      if (write_i[p]) words_q[waddr_i][p*PartBits +: PartBits] <= wdata_i[p*PartBits +: PartBits];
    end
  end
  assign rdata_o = rdata_q;

`ifndef SYNTHESIS
  if (Words < 1 || Parts < 1 || PartBits < 1) $error("ram_1r1w: Words, Parts and PartBits must be at least 1");
`endif
endmodule
