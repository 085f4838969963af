// SPDX-License-Identifier: Apache-2.0
// Shows a tile the next Depth steps of a visit's streams. It looks where the tile will be after what it takes now, so that the
// scratchpads, which answer a cycle later, lose none: the rows of the next visit follow the last one's, as td_window_ctrl expects.
module td_offer #(
  parameter int unsigned  Rows    = 4,
  parameter int unsigned  Columns = 4,
  parameter int unsigned  RowW    = 512,  // bits of a step
  parameter int unsigned  RSpaceW = 7,    // bits of a row of the scratchpads of the row operand
  parameter int unsigned  CSpaceW = 7,    // likewise of the column operand
  localparam int unsigned Depth   = td_conn_pkg::Depth,
  localparam int unsigned AdvW    = td_conn_pkg::AdvW,
  localparam int unsigned DimW    = td_layer_pkg::DimW,
  localparam int unsigned StepW   = td_layer_pkg::StepW
) (
  input  logic                          clk_i,             // clock
  input  logic                          rst_ni,            // asynchronous reset, active low
  input  td_layer_pkg::product_t        product_i,         // the product in work
  input  logic                          go_i,              // it begins
  input  logic [1:0]                    row_full_i,        // halves of the row operand that are there
  input  logic [2*RSpaceW-1:0]          row_groups_i,      // or groups of them, from the first on
  input  logic [1:0]                    column_full_i,     // likewise of the column operand
  input  logic [2*CSpaceW-1:0]          column_groups_i,   // likewise of the column operand
  output logic [1:0]                    row_release_o,     // they are not needed any more
  output logic [1:0]                    column_release_o,  // likewise of the column operand
  // Scratchpads.
  output logic                          read_o,            // the next steps are read
  output logic [Depth*RSpaceW-1:0]      row_rows_o,        // rows of the banks, row operand
  output logic [Depth*CSpaceW-1:0]      column_rows_o,     // rows of the banks, column operand
  output logic [AdvW-1:0]               first_o,           // bank of the first step on offer
  input  logic [Rows*Depth*RowW-1:0]    row_steps_i,       // the steps read before
  input  logic [Columns*Depth*RowW-1:0] column_steps_i,    // likewise of the column operand
  // Tile.
  output logic [Depth-1:0]              offer_valid_o,     // steps on offer
  output logic [Depth-1:0]              offer_last_o,      // the step is the last of its stream
  output logic [Rows*Depth*RowW-1:0]    offer_b_o,         // of the row operand
  output logic [Columns*Depth*RowW-1:0] offer_a_o,         // of the column operand
  input  logic [AdvW-1:0]               offer_take_i,      // steps that are taken
  output logic                          active_o           // there are visits to come
);
  logic               active_q, ready_q;              // ready: the steps on offer were read
  logic               row_half_q, column_half_q;
  logic [RSpaceW-2:0] row_base_q, row_base_next;      // of the visit's streams, in their halves
  logic [CSpaceW-2:0] column_base_q, column_base_next;
  logic [StepW-1:0]   left_q, line_q, line_d;         // steps that are left; row of the next one, from the base
  logic [AdvW-1:0]    bank_q, bank_d;
  logic [Rows-1:0]    row_there;
  logic [Columns-1:0] column_there;
  logic               group_ends, row_block_ends, column_block_ends, ends, visit_over;

  logic [Rows*3*DimW-1:0]    row_streams;
  logic [Columns*3*DimW-1:0] column_streams;
  logic [DimW-1:0]           row_group, column_group, row_group_d, column_group_d;
  td_visits #(.Rows(Rows), .Columns(Columns)) u_visits (
    .clk_i, .start_i(go_i), .next_i(visit_over), .product_i, .row_streams_o(row_streams), .row_there_o(row_there),
    .column_streams_o(column_streams), .column_there_o(column_there), .row_group_o(row_group), .column_group_o(column_group), .group_ends_o(group_ends),
    .row_block_ends_o(row_block_ends), .column_block_ends_o(column_block_ends), .ends_o(ends)
  );

  assign visit_over = ready_q && offer_take_i != '0 && StepW'(offer_take_i) == left_q;

  // Where the next visit's streams lie.
  always_comb begin
    row_base_next    = row_base_q;
    column_base_next = column_base_q + (CSpaceW-1)'(product_i.lines);
    if (group_ends) begin
      row_base_next    = row_block_ends ? '0 : row_base_q + (RSpaceW-1)'(product_i.lines);
      column_base_next = '0;
    end
  end

  // The position after this cycle.
  logic               row_half_d, column_half_d, go_on, ready_d, wraps;
  logic [RSpaceW-2:0] row_base_d;
  logic [CSpaceW-2:0] column_base_d;
  logic [AdvW:0]      bank_sum;
  always_comb begin
    bank_sum = {1'b0, bank_q} + {1'b0, offer_take_i};
    wraps    = bank_sum >= (AdvW+1)'(Depth);
    bank_d   = visit_over ? '0 : wraps ? AdvW'(bank_sum - (AdvW+1)'(Depth)) : AdvW'(bank_sum);
    line_d   = visit_over ? '0 : line_q + StepW'(wraps);
    row_half_d    = row_half_q ^ (visit_over & row_block_ends);
    column_half_d = column_half_q ^ (visit_over & column_block_ends);
    row_base_d    = visit_over ? row_base_next : row_base_q;
    column_base_d = visit_over ? column_base_next : column_base_q;
    go_on         = active_q & ~(visit_over & ends);
    row_group_d    = !visit_over || !group_ends ? row_group : row_block_ends ? '0 : row_group + 1'b1;
    column_group_d = !visit_over ? column_group : group_ends ? '0 : column_group + 1'b1;
    ready_d        = go_on
                     & (row_full_i[row_half_d] || row_group_d < DimW'(row_groups_i[row_half_d*RSpaceW +: RSpaceW]))
                     & (column_full_i[column_half_d] || column_group_d < DimW'(column_groups_i[column_half_d*CSpaceW +: CSpaceW]));
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      ready_q  <= 1'b0;
    end else begin
      active_q <= go_i ? ~product_i.empty : go_on;
      ready_q  <= ready_d & ~go_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      row_half_q    <= 1'b0;
      column_half_q <= 1'b0;
      row_base_q    <= '0;
      column_base_q <= '0;
      left_q        <= product_i.steps;
      line_q        <= '0;
      bank_q        <= '0;
    end else begin
      row_half_q    <= row_half_d;
      column_half_q <= column_half_d;
      row_base_q    <= row_base_d;
      column_base_q <= column_base_d;
      left_q        <= visit_over ? product_i.steps : left_q - StepW'(offer_take_i);
      line_q        <= line_d;
      bank_q        <= bank_d;
    end
  end

  // Banks below the first step's hold the steps that follow in the next row.
  assign read_o = ready_d;
  always_comb begin
    for (int unsigned b = 0; b < Depth; b++) begin
      row_rows_o[b*RSpaceW +: RSpaceW] =
          {row_half_d, row_base_d + (RSpaceW-1)'(line_d) + (RSpaceW-1)'(AdvW'(b) < bank_d)};
      column_rows_o[b*CSpaceW +: CSpaceW] =
          {column_half_d, column_base_d + (CSpaceW-1)'(line_d) + (CSpaceW-1)'(AdvW'(b) < bank_d)};
    end
  end
  assign first_o = bank_q;

  always_comb begin
    for (int unsigned s = 0; s < Depth; s++) begin
      offer_valid_o[s] = ready_q && StepW'(s) < left_q;
      offer_last_o[s]  = StepW'(s) + 1'b1 == left_q;
    end
    // Lines without a stream: zeros, which hold up nobody.
    offer_b_o = '0;
    offer_a_o = '0;
    for (int unsigned r = 0; r < Rows; r++) begin
      if (row_there[r]) offer_b_o[r*Depth*RowW +: Depth*RowW] = row_steps_i[r*Depth*RowW +: Depth*RowW];
    end
    for (int unsigned c = 0; c < Columns; c++) begin
      if (column_there[c]) offer_a_o[c*Depth*RowW +: Depth*RowW] = column_steps_i[c*Depth*RowW +: Depth*RowW];
    end
  end

  always_comb begin
    row_release_o    = '0;
    column_release_o = '0;
    row_release_o[row_half_q]       = visit_over & row_block_ends;
    column_release_o[column_half_q] = visit_over & column_block_ends;
  end
  assign active_o = active_q;

  logic unused;
  assign unused = ^{product_i, row_streams, column_streams};
`ifndef SYNTHESIS
  VisitsEndWithTheirStreams : assert property (@(posedge clk_i) disable iff (!rst_ni)
      !ready_q || StepW'(offer_take_i) <= left_q);
`endif
endmodule
