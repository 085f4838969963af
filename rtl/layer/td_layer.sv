// SPDX-License-Identifier: Apache-2.0
// A tile that runs a layer by itself: the three operations of training, from tensors in AM and BM to a tensor in CM.
//
//   load -> AM -> fetch -> scratchpads of the columns --+
//   load -> BM -> fetch -> scratchpads of the rows -----+-> offer -> td_tile -> write back -> CM -> read
//
// BM holds the operand whose zeros are skipped [TensorDash §3.3]. A host writes the geometry, loads both operands, starts, and
// reads the result; rtl/README.md has the registers and the layout of tensors.
module td_layer #(
  parameter int unsigned  Rows        = 4,
  parameter int unsigned  Columns     = 4,
  parameter int unsigned  ExpW        = 8,
  parameter int unsigned  ManIn       = 23,    // 23: FP32, 7: bfloat16; sums and results are FP32
  parameter int unsigned  Banks       = 4,     // of AM and of BM: blocks that are read in a cycle
  parameter int unsigned  AmWords     = 1024,  // blocks of a bank of AM
  parameter int unsigned  BmWords     = 1024,  // likewise of BM
  parameter int unsigned  CmWords     = 4096,  // blocks of CM
  parameter int unsigned  RowSpace    = 64,    // rows of Depth steps in half a scratchpad of the row operand; a power of two
  parameter int unsigned  ColumnSpace = 64,    // likewise of the column operand
  localparam int unsigned Lanes       = td_conn_pkg::Lanes,
  localparam int unsigned Width       = ExpW + ManIn + 1,
  localparam int unsigned AccW        = 32
) (
  input  logic                   clk_i,          // clock
  input  logic                   rst_ni,         // asynchronous reset, active low; memories keep what they hold
  // Control: AXI4-Lite, see td_layer_regs.
  input  logic                   awvalid_i,      // write address
  output logic                   awready_o,      // it is taken
  input  logic [11:0]            awaddr_i,       // in bytes
  input  logic                   wvalid_i,       // write data
  output logic                   wready_o,       // it is taken
  input  logic [31:0]            wdata_i,        // the word
  input  logic [3:0]             wstrb_i,        // its bytes: all
  output logic                   bvalid_o,       // the write is done
  input  logic                   bready_i,       // seen
  output logic [1:0]             bresp_o,        // OKAY or SLVERR
  input  logic                   arvalid_i,      // read address
  output logic                   arready_o,      // it is taken
  input  logic [11:0]            araddr_i,       // in bytes
  output logic                   rvalid_o,       // read data
  input  logic                   rready_i,       // taken
  output logic [31:0]            rdata_o,        // the word
  output logic [1:0]             rresp_o,        // OKAY
  output logic                   done_o,         // interrupt: the last operation has ended; until the next one begins
  // Values for AM or BM, after the register LOAD was written.
  input  logic                   load_valid_i,   // a block is on offer
  output logic                   load_ready_o,   // it is taken: whenever no operation runs
  input  logic [Lanes*Width-1:0] load_block_i,   // the block
  input  logic [Lanes-1:0]       load_keep_i,    // values that are elements of the tensor; the others are stored as zeros
  // Blocks of CM, after the register READ_COUNT was written.
  output logic                   read_valid_o,   // a block is on offer
  input  logic                   read_ready_i,   // it is taken
  output logic [Lanes*AccW-1:0]  read_block_o,   // the block
  output logic                   read_last_o     // the last one
);
  localparam int unsigned Depth   = td_conn_pkg::Depth;
  localparam int unsigned AdvW    = td_conn_pkg::AdvW;
  localparam int unsigned AddrW   = td_layer_pkg::AddrW;
  localparam int unsigned RowW    = Lanes * Width;
  localparam int unsigned AmWordW = $clog2(AmWords);
  localparam int unsigned BmWordW = $clog2(BmWords);
  localparam int unsigned CmWordW = $clog2(CmWords);
  localparam int unsigned RSpaceW = $clog2(RowSpace) + 1;
  localparam int unsigned CSpaceW = $clog2(ColumnSpace) + 1;

  td_layer_pkg::layer_t   layer;
  td_layer_pkg::product_t product;
  logic                   start, go, finished, busy, bad, bypass_q;
  logic                   load, load_bm, read;
  logic [AddrW-1:0]       load_address, read_address, read_count;
  logic [15:0]            threshold;
  logic [10*32-1:0]       counters;

  td_layer_regs #(.Rows(Rows), .Columns(Columns), .RSpaceW(RSpaceW), .CSpaceW(CSpaceW)) u_regs (
    .clk_i, .rst_ni, .awvalid_i, .awready_o, .awaddr_i, .wvalid_i, .wready_o, .wdata_i, .wstrb_i, .bvalid_o, .bready_i, .bresp_o,
    .arvalid_i, .arready_o, .araddr_i, .rvalid_o, .rready_i, .rdata_o, .rresp_o, .layer_o(layer), .threshold_o(threshold),
    .start_o(start), .load_o(load), .load_bm_o(load_bm), .load_address_o(load_address), .read_o(read),
    .read_address_o(read_address), .read_count_o(read_count), .busy_i(busy), .done_o, .error_i(bad), .bypassed_i(bypass_q),
    .counters_i(counters)
  );
  td_layer_plan #(.RowLines(RowSpace), .ColumnLines(ColumnSpace)) u_plan (
    .clk_i, .rst_ni, .start_i(start), .layer_i(layer), .product_o(product), .go_o(go), .finished_i(finished), .busy_o(busy),
    .error_o(bad)
  );

  // AM and BM.
  logic                     to_bm_q, am_write, bm_write, am_gate, bm_gate;
  logic [AddrW-1:0]         load_q;
  logic [RowW-1:0]          loaded;
  logic [Banks-1:0]         am_read, bm_read;
  logic [Banks*AmWordW-1:0] am_word;
  logic [Banks*BmWordW-1:0] bm_word;
  logic [Banks*RowW-1:0]    am_data, bm_data;
  logic                     takes;
  assign load_ready_o = ~busy & ~load;
  assign takes        = load_valid_i & load_ready_o;
  assign am_write     = takes & ~to_bm_q;
  assign bm_write     = takes & to_bm_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) to_bm_q <= 1'b0;
    else if (load) to_bm_q <= load_bm;
  end
  always_ff @(posedge clk_i) load_q <= load ? load_address : load_q + AddrW'(takes);
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    assign loaded[l*Width +: Width] = load_keep_i[l] ? load_block_i[l*Width +: Width] : '0;
  end
  td_banked_memory #(.Banks(Banks), .Words(AmWords), .RowW(RowW)) u_am (
    .clk_i, .read_i(am_read), .word_i(am_word), .data_o(am_data), .write_i(am_write), .block_i(load_q), .data_i(loaded)
  );
  td_banked_memory #(.Banks(Banks), .Words(BmWords), .RowW(RowW)) u_bm (
    .clk_i, .read_i(bm_read), .word_i(bm_word), .data_o(bm_data), .write_i(bm_write), .block_i(load_q), .data_i(loaded)
  );

  // The zeros of what is loaded decide whether skipping pays [TensorDash §3.5].
  td_zero_counter #(.Lanes(Lanes), .Width(Width)) u_am_zeros (
    .clk_i, .rst_ni, .clear_i(load & ~load_bm), .valid_i(am_write), .block_i(loaded), .present_i(load_keep_i),
    .threshold_i(threshold), .zeros_o(counters[4*32 +: 32]), .values_o(counters[5*32 +: 32]), .gate_o(am_gate)
  );
  td_zero_counter #(.Lanes(Lanes), .Width(Width)) u_bm_zeros (
    .clk_i, .rst_ni, .clear_i(load & load_bm), .valid_i(bm_write), .block_i(loaded), .present_i(load_keep_i),
    .threshold_i(threshold), .zeros_o(counters[6*32 +: 32]), .values_o(counters[7*32 +: 32]), .gate_o(bm_gate)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) bypass_q <= 1'b0;
    else if (start) begin
      bypass_q <= layer.bypass == td_layer_pkg::BypassAlways || (layer.bypass == td_layer_pkg::BypassAuto && bm_gate);
    end
  end

  // Operands to the scratchpads. A block of columns begins a pass over the rows.
  logic                          row_begins, column_begins, active, read_steps;
  logic [1:0]                    row_full, row_release, column_full, column_release;
  logic [Rows-1:0]               row_write;
  logic [Columns-1:0]            column_write;
  logic [AdvW-1:0]               row_bank, column_bank, first_bank;
  logic [RSpaceW-1:0]            row_row;
  logic [CSpaceW-1:0]            column_row;
  logic [Rows*RowW-1:0]          row_steps;
  logic [Columns*RowW-1:0]       column_steps;
  logic [2*RSpaceW-1:0]          row_groups;
  logic [2*CSpaceW-1:0]          column_groups;
  logic [Depth*RSpaceW-1:0]      row_rows;
  logic [Depth*CSpaceW-1:0]      column_rows;
  logic [Rows*Depth*RowW-1:0]    row_offer, offer_b;
  logic [Columns*Depth*RowW-1:0] column_offer, offer_a;
  td_fetch #(.Lines(Rows), .Banks(Banks), .Width(Width), .WordW(BmWordW), .SpaceW(RSpaceW)) u_row_fetch (
    .clk_i, .rst_ni, .product_i(product), .operand_i(product.row), .block_i(product.row_block), .go_i(go),
    .pass_i(column_begins), .begins_o(row_begins), .full_o(row_full), .groups_o(row_groups), .release_i(row_release), .read_o(bm_read),
    .word_o(bm_word), .data_i(bm_data), .write_o(row_write), .bank_o(row_bank), .row_o(row_row), .steps_o(row_steps)
  );
  td_fetch #(.Lines(Columns), .Banks(Banks), .Width(Width), .WordW(AmWordW), .SpaceW(CSpaceW)) u_column_fetch (
    .clk_i, .rst_ni, .product_i(product), .operand_i(product.column), .block_i(product.column_block), .go_i(go),
    .pass_i(go & ~product.empty), .begins_o(column_begins), .full_o(column_full), .groups_o(column_groups), .release_i(column_release),
    .read_o(am_read), .word_o(am_word), .data_i(am_data), .write_o(column_write), .bank_o(column_bank), .row_o(column_row),
    .steps_o(column_steps)
  );
  td_scratchpads #(.Lines(Rows), .RowW(RowW), .SpaceW(RSpaceW)) u_row_scratchpads (
    .clk_i, .write_i(row_write), .wbank_i(row_bank), .wrow_i(row_row), .steps_i(row_steps), .read_i(read_steps),
    .rrow_i(row_rows), .first_i(first_bank), .steps_o(row_offer)
  );
  td_scratchpads #(.Lines(Columns), .RowW(RowW), .SpaceW(CSpaceW)) u_column_scratchpads (
    .clk_i, .write_i(column_write), .wbank_i(column_bank), .wrow_i(column_row), .steps_i(column_steps), .read_i(read_steps),
    .rrow_i(column_rows), .first_i(first_bank), .steps_o(column_offer)
  );

  // The tile.
  logic [Depth-1:0]             offer_valid, offer_last;
  logic [AdvW-1:0]              take;
  logic                         issue, result_valid, result_ready;
  logic [Rows*Columns*AccW-1:0] result;
  td_offer #(.Rows(Rows), .Columns(Columns), .RowW(RowW), .RSpaceW(RSpaceW), .CSpaceW(CSpaceW)) u_offer (
    .clk_i, .rst_ni, .product_i(product), .go_i(go), .row_full_i(row_full), .row_groups_i(row_groups), .column_full_i(column_full), .column_groups_i(column_groups),
    .row_release_o(row_release), .column_release_o(column_release), .read_o(read_steps), .row_rows_o(row_rows),
    .column_rows_o(column_rows), .first_o(first_bank), .row_steps_i(row_offer), .column_steps_i(column_offer),
    .offer_valid_o(offer_valid), .offer_last_o(offer_last), .offer_b_o(offer_b), .offer_a_o(offer_a), .offer_take_i(take),
    .active_o(active)
  );
  td_tile #(.Rows(Rows), .Columns(Columns), .Sides(1), .ExpW(ExpW), .ManIn(ManIn)) u_tile (
    .clk_i, .rst_ni, .bypass_i(bypass_q), .offer_valid_i(offer_valid), .offer_last_i(offer_last), .offer_a_i(offer_a),
    .offer_b_i(offer_b), .offer_take_o(take), .issue_o(issue), .result_valid_o(result_valid), .result_ready_i(result_ready),
    .result_o(result)
  );

  // Results.
  logic [Lanes-1:0]      cm_write;
  logic [CmWordW-1:0]    cm_word;
  logic [Lanes*AccW-1:0] cm_block;
  logic                  cm_gate;
  td_write_back #(.Rows(Rows), .Columns(Columns), .AccW(AccW), .WordW(CmWordW)) u_write_back (
    .clk_i, .rst_ni, .product_i(product), .go_i(go), .result_valid_i(result_valid), .result_ready_o(result_ready),
    .result_i(result), .write_o(cm_write), .word_o(cm_word), .block_o(cm_block), .finished_o(finished)
  );
  td_result_memory #(.Words(CmWords), .AccW(AccW)) u_cm (
    .clk_i, .rst_ni, .write_i(cm_write), .word_i(cm_word), .block_i(cm_block), .read_i(read), .address_i(read_address),
    .count_i(read_count), .out_valid_o(read_valid_o), .out_ready_i(read_ready_i), .out_block_o(read_block_o),
    .out_last_o(read_last_o)
  );
  td_zero_counter #(.Lanes(Lanes), .Width(AccW)) u_cm_zeros (
    .clk_i, .rst_ni, .clear_i(start), .valid_i(cm_write != '0), .block_i(cm_block), .present_i(cm_write),
    .threshold_i(threshold), .zeros_o(counters[8*32 +: 32]), .values_o(counters[9*32 +: 32]), .gate_o(cm_gate)
  );

  // Cycles of the operation. Those in which the tile does not issue: it waits for its results to be taken, or for operands; what
  // is left is planning, and the last results' way to CM.
  logic [31:0] cycles_q, issued_q, operands_q, results_q;
  logic        waits, starves;
  assign waits   = result_valid & ~result_ready;
  assign starves = active & ~issue & ~waits;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycles_q   <= '0;
      issued_q   <= '0;
      operands_q <= '0;
      results_q  <= '0;
    end else if (start) begin
      cycles_q   <= '0;
      issued_q   <= '0;
      operands_q <= '0;
      results_q  <= '0;
    end else if (busy) begin
      cycles_q   <= cycles_q + 1'b1;
      issued_q   <= issued_q + 32'(issue);
      results_q  <= results_q + 32'(waits);
      operands_q <= operands_q + 32'(starves);
    end
  end
  assign counters[0 +: 4*32] = {results_q, operands_q, issued_q, cycles_q};

  logic unused;
  assign unused = ^{am_gate, cm_gate, row_begins};
`ifndef SYNTHESIS
  if (AccW != ExpW + 24) $error("td_layer: sums are FP32");
  if ((RowSpace & (RowSpace - 1)) != 0 || (ColumnSpace & (ColumnSpace - 1)) != 0 || RowSpace < 2 || ColumnSpace < 2) begin
    $error("td_layer: RowSpace and ColumnSpace must be powers of two");
  end
  stream_check #(.Bits(Lanes * Width + Lanes)) u_load_check (
    .clk_i, .rst_ni, .valid_i(load_valid_i), .ready_i(load_ready_o), .payload_i({load_block_i, load_keep_i})
  );
  // An operation leaves nothing behind.
  EndsEmpty : assert property (@(posedge clk_i) disable iff (!rst_ni)
      !finished || (row_full == '0 && column_full == '0 && !active && !result_valid && offer_valid == '0));
`endif
endmodule
