// SPDX-License-Identifier: Apache-2.0
// Reads blocks of a banked memory for several lines at once: Latency cycles after a request its block is there. Requests of a
// cycle must meet in no bank.
module td_memory_read #(
  parameter int unsigned  Lines   = 4,
  parameter int unsigned  Banks   = 4,
  parameter int unsigned  RowW    = 512,  // bits of a block
  parameter int unsigned  Part    = 32,   // bits of a value
  parameter int unsigned  WordW   = 10,   // bits of a bank's address
  parameter int unsigned  TagW    = 1,    // bits that go with a request
  localparam int unsigned DimW    = td_layer_pkg::DimW,
  localparam int unsigned Lanes   = RowW / Part
) (
  input  logic                    clk_i,           // clock
  input  logic                    rst_ni,          // asynchronous reset, active low
  input  td_layer_pkg::operand_t  operand_i,       // the tensor
  input  logic [Lines-1:0]        request_i,       // lines that ask for a block
  input  logic [Lines-1:0]        inside_i,        // there is one; else zeros come
  input  logic [Lines*3*DimW-1:0] places_i,        // digits_t of each line: image, row, column
  input  logic [DimW-1:0]         block_i,         // channels of the block, in blocks
  input  logic [Lanes-1:0]        keep_i,          // lanes that are not zero anyway
  input  logic [TagW-1:0]         tag_i,           // goes with the request
  output logic [Banks-1:0]        read_o,          // to the memory: banks that are read
  output logic [Banks*WordW-1:0]  word_o,          // and their addresses
  input  logic [Banks*RowW-1:0]   data_i,          // from the memory, a cycle later
  output logic [Lines-1:0]        response_o,      // lines whose block is there
  output logic [Lines*RowW-1:0]   blocks_o,        // their blocks
  output logic [TagW-1:0]         tag_o            // of the request
);
  localparam int unsigned Latency = 5;
  localparam int unsigned AddrW   = td_layer_pkg::AddrW;
  localparam int unsigned BankW   = Banks > 1 ? $clog2(Banks) : 1;

  // What goes along: place 0 is the newest.
  logic [Latency*Lines-1:0] request_q, inside_q;
  logic [Latency*Lanes-1:0] keep_q;
  logic [Latency*TagW-1:0]  tag_q;
  logic [Lines*3*DimW-1:0]  places_q;
  logic [DimW-1:0]          block_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) request_q <= '0;
    else request_q <= (Latency*Lines)'({request_q, request_i});
  end
  always_ff @(posedge clk_i) begin
    inside_q <= (Latency*Lines)'({inside_q, inside_i});
    keep_q   <= (Latency*Lanes)'({keep_q, keep_i});
    tag_q    <= (Latency*TagW)'({tag_q, tag_i});
    places_q <= places_i;
    block_q  <= block_i;
  end

  logic [Lines*AddrW-1:0] address;
  logic [Lines*BankW-1:0] bank, bank_q;
  for (genvar l = 0; l < Lines; l++) begin : gen_line
    td_block_address u_address (
      .clk_i, .rows_i(operand_i.rows), .columns_i(operand_i.columns), .channels_i(operand_i.channels),
      .base_i(operand_i.base), .image_i(places_q[(3*l + 2)*DimW +: DimW]), .row_i(places_q[(3*l + 1)*DimW +: DimW]),
      .column_i(places_q[3*l*DimW +: DimW]), .block_i(block_q), .address_o(address[l*AddrW +: AddrW])
    );
    assign bank[l*BankW +: BankW] = BankW'(address[l*AddrW +: AddrW] & AddrW'(Banks - 1));
  end

  // The addresses are there with place Latency - 2.
  logic [Lines-1:0] reads;
  assign reads = request_q[(Latency-2)*Lines +: Lines] & inside_q[(Latency-2)*Lines +: Lines];
  always_comb begin
    read_o = '0;
    word_o = '0;
    for (int unsigned b = 0; b < Banks; b++) begin
      for (int unsigned l = 0; l < Lines; l++) begin
        if (reads[l] && bank[l*BankW +: BankW] == BankW'(b)) begin
          read_o[b] = 1'b1;
          word_o[b*WordW +: WordW] = word_o[b*WordW +: WordW] | WordW'(address[l*AddrW +: AddrW] >> $clog2(Banks));
        end
      end
    end
  end
  always_ff @(posedge clk_i) bank_q <= bank;

  always_comb begin
    blocks_o = '0;
    for (int unsigned l = 0; l < Lines; l++) begin
      for (int unsigned v = 0; v < Lanes; v++) begin
        if (inside_q[(Latency-1)*Lines + l] && keep_q[(Latency-1)*Lanes + v]) begin
          blocks_o[l*RowW + v*Part +: Part] = data_i[32'(bank_q[l*BankW +: BankW])*RowW + v*Part +: Part];
        end
      end
    end
  end
  assign response_o = request_q[(Latency-1)*Lines +: Lines];
  assign tag_o      = tag_q[(Latency-1)*TagW +: TagW];

  logic unused;
  assign unused = ^operand_i;
`ifndef SYNTHESIS
  // Two lines in one bank would get each other's block.
  logic meet;
  always_comb begin
    meet = 1'b0;
    for (int unsigned l = 0; l < Lines; l++) begin
      for (int unsigned m = 0; m < l; m++) meet = meet | (reads[l] & reads[m] & (bank[l*BankW +: BankW] == bank[m*BankW +: BankW]));
    end
  end
  NoneMeets : assert property (@(posedge clk_i) disable iff (!rst_ni) !meet);
`endif
endmodule
