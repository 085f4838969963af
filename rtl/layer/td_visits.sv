// SPDX-License-Identifier: Apache-2.0
// The order in which a tile works through a product: every group of row streams meets every group of column streams. A block of
// column groups stays in the scratchpads while all row groups pass; of these a block is there at a time:
//   for each block of columns, for each block of rows, for each row group in it, for each column group in it: a visit
module td_visits #(
  parameter int unsigned  Rows    = 4,
  parameter int unsigned  Columns = 4,
  localparam int unsigned DimW    = td_layer_pkg::DimW
) (
  input  logic                      clk_i,               // clock
  input  logic                      start_i,             // begin with the first visit
  input  logic                      next_i,              // the visit is over
  input  td_layer_pkg::product_t    product_i,           // the product in work
  output logic [Rows*3*DimW-1:0]    row_streams_o,       // digits_t of each row's stream
  output logic [Rows-1:0]           row_there_o,         // rows that have one
  output logic [Columns*3*DimW-1:0] column_streams_o,    // digits_t of each column's stream
  output logic [Columns-1:0]        column_there_o,      // columns that have one
  output logic [DimW-1:0]           row_group_o,         // number of the row group in its block
  output logic [DimW-1:0]           column_group_o,      // number of the column group in its block
  output logic                      group_ends_o,        // the row group's last visit in this block of columns
  output logic                      row_block_ends_o,    // and its block's
  output logic                      column_block_ends_o, // and of all rows
  output logic                      ends_o               // the last visit of the product
);
  td_layer_pkg::digits_t row_q, row_next, column_q, column_next, block_q;  // block_q: where the block of columns begins
  logic [DimW-1:0]       row_count_q, column_count_q;                      // groups of the block that were there before
  logic                  rows_end, columns_end;

  td_walk #(.Lines(Rows)) u_rows (
    .limit2_i(product_i.row.streams2), .limit1_i(product_i.row.streams1), .limit0_i(product_i.row.streams0),
    .from_i(row_q), .streams_o(row_streams_o), .there_o(row_there_o), .next_o(row_next), .ends_o(rows_end)
  );
  td_walk #(.Lines(Columns)) u_columns (
    .limit2_i(product_i.column.streams2), .limit1_i(product_i.column.streams1), .limit0_i(product_i.column.streams0),
    .from_i(column_q), .streams_o(column_streams_o), .there_o(column_there_o), .next_o(column_next), .ends_o(columns_end)
  );

  assign group_ends_o        = columns_end | (column_count_q + 1'b1 == product_i.column_block);
  assign row_block_ends_o    = group_ends_o & (rows_end | (row_count_q + 1'b1 == product_i.row_block));
  assign column_block_ends_o = group_ends_o & rows_end;
  assign row_group_o         = row_count_q;
  assign column_group_o      = column_count_q;
  assign ends_o              = rows_end & columns_end;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      row_q          <= '0;
      column_q       <= '0;
      block_q        <= '0;
      row_count_q    <= '0;
      column_count_q <= '0;
    end else if (next_i) begin
      column_count_q <= group_ends_o ? '0 : column_count_q + 1'b1;
      column_q       <= !group_ends_o || column_block_ends_o ? column_next : block_q;
      if (column_block_ends_o) block_q <= column_next;
      if (group_ends_o) begin
        row_q       <= row_next;
        row_count_q <= row_block_ends_o ? '0 : row_count_q + 1'b1;
      end
    end
  end

  logic unused;
  assign unused = ^product_i;
endmodule
