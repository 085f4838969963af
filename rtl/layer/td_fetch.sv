// SPDX-License-Identifier: Apache-2.0
// Brings an operand from its memory to the scratchpads of its lines of PEs: address generator, reads, transposer where lanes run
// across blocks. Scratchpads have two halves; while the tile works from one, the other is filled.
module td_fetch #(
  parameter int unsigned  Lines  = 4,                   // lines of PEs: rows or columns
  parameter int unsigned  Banks  = 4,                   // of the memory
  parameter int unsigned  Width  = 32,                  // bits of a value
  parameter int unsigned  WordW  = 10,                  // bits of an address of a bank
  parameter int unsigned  SpaceW = 7,                   // bits of a row of the scratchpads, both halves together
  localparam int unsigned DimW   = td_layer_pkg::DimW,
  localparam int unsigned Lanes  = td_conn_pkg::Lanes,
  localparam int unsigned AdvW   = td_conn_pkg::AdvW,
  localparam int unsigned RowW   = Lanes * Width
) (
  input  logic                   clk_i,      // clock
  input  logic                   rst_ni,     // asynchronous reset, active low
  input  td_layer_pkg::product_t product_i,  // the product in work
  input  td_layer_pkg::operand_t operand_i,  // of it, the operand
  input  logic [DimW-1:0]        block_i,    // groups of Lines streams that half of the scratchpads takes in
  input  logic                   go_i,       // the product begins
  input  logic                   pass_i,     // one more pass over the streams is wanted
  output logic                   begins_o,   // a block of streams begins
  // Halves.
  output logic [1:0]             full_o,     // they hold their block
  output logic [2*SpaceW-1:0]    groups_o,   // whole groups of the block that they hold
  input  logic [1:0]             release_i,  // the tile is done with it
  // Memory.
  output logic [Banks-1:0]       read_o,     // banks that are read
  output logic [Banks*WordW-1:0] word_o,     // and their addresses
  input  logic [Banks*RowW-1:0]  data_i,     // their data, a cycle later
  // Scratchpads.
  output logic [Lines-1:0]       write_o,    // those that are written
  output logic [AdvW-1:0]        bank_o,     // in this bank
  output logic [SpaceW-1:0]      row_o,      // at this row; the highest bit is the half
  output logic [Lines*RowW-1:0]  steps_o     // with these steps
);
  localparam int unsigned SideW = $clog2(Lanes);
  localparam int unsigned TagW  = 1 + 1 + 1 + (SpaceW - 1) + AdvW;

  logic [1:0]              held_q, full_q;  // a half is being filled or full
  logic                    half, group, last, free;
  logic [Lines-1:0]        request, exists, response, column_write;
  logic [Lines*3*DimW-1:0] places;
  logic [DimW-1:0]         block;
  logic [Lanes-1:0]        keep;
  logic [SpaceW-2:0]       row, response_row, column_row;
  logic [AdvW-1:0]         bank, response_bank, column_bank;
  logic [SideW-1:0]        bundle_first;
  logic [SideW:0]          bundle_count;
  logic                    bundle_done, response_half, response_group, response_last;
  logic [SpaceW-1:0]       bundle_groups;
  logic [Lines*RowW-1:0]   blocks;
  logic [RowW-1:0]         column;

  assign free = ~held_q[half];
  td_fetch_issue #(.Lines(Lines), .Banks(Banks), .SpaceW(SpaceW)) u_issue (
    .clk_i, .rst_ni, .product_i, .operand_i, .block_i, .go_i, .pass_i, .free_i(free), .half_o(half), .begins_o,
    .request_o(request), .inside_o(exists), .places_o(places), .block_o(block), .keep_o(keep), .row_o(row), .bank_o(bank),
    .group_o(group), .last_o(last), .bundle_first_o(bundle_first), .bundle_count_o(bundle_count), .bundle_done_i(bundle_done)
  );
  td_memory_read #(.Lines(Lines), .Banks(Banks), .RowW(RowW), .Part(Width), .WordW(WordW), .TagW(TagW)) u_read (
    .clk_i, .rst_ni, .operand_i, .request_i(request), .inside_i(exists), .places_i(places), .block_i(block), .keep_i(keep),
    .tag_i({half, group, last, row, bank}), .read_o, .word_o, .data_i, .response_o(response), .blocks_o(blocks),
    .tag_o({response_half, response_group, response_last, response_row, response_bank})
  );
  td_fetch_transposed #(.Lines(Lines), .Width(Width), .SpaceW(SpaceW)) u_transposed (
    .clk_i, .rst_ni, .steps_i(product_i.steps), .lines_i((SpaceW-1)'(product_i.lines)), .begins_i(begins_o),
    .valid_i(response[0] & operand_i.transposed), .block_i(blocks[0 +: RowW]), .bundle_first_i(bundle_first),
    .bundle_count_i(bundle_count), .bundle_done_o(bundle_done), .groups_o(bundle_groups), .write_o(column_write), .row_o(column_row),
    .bank_o(column_bank), .data_o(column)
  );

  assign write_o = operand_i.transposed ? column_write : response;
  assign bank_o  = operand_i.transposed ? column_bank : response_bank;
  assign row_o   = operand_i.transposed ? {half, column_row} : {response_half, response_row};
  assign steps_o = operand_i.transposed ? {Lines{column}} : blocks;

  // A half is full once its last step is written. The tile may begin with the groups that are complete.
  logic [1:0]          fills;
  logic [2*SpaceW-1:0] groups_q, groups_d;
  always_comb begin
    fills    = '0;
    groups_d = groups_q;
    if (operand_i.transposed) begin
      fills[half] = last;
      if (bundle_done) groups_d[half*SpaceW +: SpaceW] = bundle_groups;
    end else if (response != '0) begin
      fills[response_half] = response_last;
      if (response_group) groups_d[response_half*SpaceW +: SpaceW] = groups_q[response_half*SpaceW +: SpaceW] + 1'b1;
    end
    for (int unsigned h = 0; h < 2; h++) begin
      if (release_i[h]) groups_d[h*SpaceW +: SpaceW] = '0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q   <= '0;
      full_q   <= '0;
      groups_q <= '0;
    end else begin
      held_q <= (held_q & ~release_i) | (begins_o ? 2'b01 << half : 2'b00);
      full_q <= (full_q & ~release_i) | fills;
      groups_q <= groups_d;
    end
  end
  assign full_o   = full_q;
  assign groups_o = groups_q;

  logic unused;
  assign unused = ^product_i;
`ifndef SYNTHESIS
  NothingIsOverwritten : assert property (@(posedge clk_i) disable iff (!rst_ni) write_o == '0 || !full_q[row_o[SpaceW-1]]);
  OnlyFullOnesAreReleased : assert property (@(posedge clk_i) disable iff (!rst_ni) (release_i & ~full_q) == '0);
`endif
endmodule
