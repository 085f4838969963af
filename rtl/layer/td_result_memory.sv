// SPDX-License-Identifier: Apache-2.0
// CM with its way out: values of a block are written by themselves; blocks that follow one another are read as a stream.
module td_result_memory #(
  parameter int unsigned  Words = 1024,  // blocks
  parameter int unsigned  AccW  = 32,    // bits of a value
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned WordW = $clog2(Words),
  localparam int unsigned AddrW = td_layer_pkg::AddrW
) (
  input  logic                  clk_i,        // clock
  input  logic                  rst_ni,       // asynchronous reset, active low
  input  logic [Lanes-1:0]      write_i,      // values that are written
  input  logic [WordW-1:0]      word_i,       // address of their block
  input  logic [Lanes*AccW-1:0] block_i,      // the block
  input  logic                  read_i,       // a stream of blocks is wanted; drops what is left of the last one
  input  logic [AddrW-1:0]      address_i,    // the first
  input  logic [AddrW-1:0]      count_i,      // their number
  output logic                  out_valid_o,  // a block is on offer
  input  logic                  out_ready_i,  // it is taken
  output logic [Lanes*AccW-1:0] out_block_o,  // the block
  output logic                  out_last_o    // the last one
);
  logic [WordW-1:0] address_q;
  logic [AddrW-1:0] left_q;   // that are still to be read
  logic             valid_q, fetch;
  assign fetch = left_q != '0 && (!valid_q || out_ready_i) && !read_i;

  ram_1r1w #(.Words(Words), .Parts(Lanes), .PartBits(AccW)) u_ram (
    .clk_i, .read_i(fetch), .raddr_i(address_q), .rdata_o(out_block_o), .write_i, .waddr_i(word_i), .wdata_i(block_i)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      left_q  <= '0;
    end else begin
      valid_q <= ~read_i & (fetch | (valid_q & ~out_ready_i));
      left_q  <= read_i ? count_i : left_q - AddrW'(fetch);
    end
  end
  always_ff @(posedge clk_i) address_q <= read_i ? WordW'(address_i) : address_q + WordW'(fetch);
  assign out_valid_o = valid_q;
  assign out_last_o  = valid_q && left_q == '0;

  logic unused;
  assign unused = ^address_i;
`ifndef SYNTHESIS
  stream_check #(.Bits(Lanes * AccW + 1)) u_out_check (
    .clk_i, .rst_ni(rst_ni & ~read_i), .valid_i(out_valid_o), .ready_i(out_ready_i), .payload_i({out_block_o, out_last_o})
  );
`endif
endmodule
