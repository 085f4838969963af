// SPDX-License-Identifier: Apache-2.0
// AM or BM: blocks of values in banks that are read together. Block n lies in bank n mod Banks.
module td_banked_memory #(
  parameter int unsigned  Banks = 4,     // a power of two
  parameter int unsigned  Words = 1024,  // blocks of a bank
  parameter int unsigned  RowW  = 512,   // bits of a block
  localparam int unsigned WordW = $clog2(Words),
  localparam int unsigned AddrW = td_layer_pkg::AddrW
) (
  input  logic                   clk_i,    // clock
  input  logic [Banks-1:0]       read_i,   // banks that are read
  input  logic [Banks*WordW-1:0] word_i,   // and their addresses
  output logic [Banks*RowW-1:0]  data_o,   // their blocks, a cycle later
  input  logic                   write_i,  // a block is written
  input  logic [AddrW-1:0]       block_i,  // its number
  input  logic [RowW-1:0]        data_i    // its values
);
  localparam int unsigned BankW = $clog2(Banks);
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    ram_1r1w #(.Words(Words), .Parts(1), .PartBits(RowW)) u_ram (
      .clk_i, .read_i(read_i[b]), .raddr_i(word_i[b*WordW +: WordW]), .rdata_o(data_o[b*RowW +: RowW]),
      .write_i(write_i & ((block_i & AddrW'(Banks - 1)) == AddrW'(b))), .waddr_i(WordW'(block_i >> BankW)), .wdata_i(data_i)
    );
  end
  logic unused;
  assign unused = ^block_i;
endmodule
