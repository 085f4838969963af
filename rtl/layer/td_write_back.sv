// SPDX-License-Identifier: Apache-2.0
// Writes the accumulators of a tile to the result's tensor, in the layout of td_block_address, so that it can be an operand of the
// next operation. Accumulators whose channels lie in one block are written together: mostly one block per cycle and place.
module td_write_back #(
  parameter int unsigned  Rows    = 4,
  parameter int unsigned  Columns = 4,
  parameter int unsigned  AccW    = 32,
  parameter int unsigned  WordW   = 10,   // bits of an address of CM
  localparam int unsigned DimW    = td_layer_pkg::DimW,
  localparam int unsigned Lanes   = td_conn_pkg::Lanes
) (
  input  logic                         clk_i,           // clock
  input  logic                         rst_ni,          // asynchronous reset, active low
  input  td_layer_pkg::product_t       product_i,       // the product in work
  input  logic                         go_i,            // it begins
  input  logic                         result_valid_i,  // the outputs of a visit are on offer
  output logic                         result_ready_o,  // they are taken
  input  logic [Rows*Columns*AccW-1:0] result_i,        // PE (r, c) at (r*Columns + c)*AccW
  output logic [Lanes-1:0]             write_o,         // values of a block of CM that are written
  output logic [WordW-1:0]             word_o,          // its address
  output logic [Lanes*AccW-1:0]        block_o,         // the values
  output logic                         finished_o       // the whole result is written; for one cycle
);
  localparam int unsigned SideW   = $clog2(Lanes);
  localparam int unsigned AddrW   = td_layer_pkg::AddrW;
  localparam int unsigned Most    = Rows > Columns ? Rows : Columns;
  localparam int unsigned CountW  = $clog2(Most + 1);
  localparam int unsigned Stages  = 4;  // from the choice of values to the write

  logic                         active_q, held_q;   // held: outputs of a visit are here
  logic [Rows*Columns*AccW-1:0] result_q;
  logic [Rows*3*DimW-1:0]       row_streams;
  logic [Columns*3*DimW-1:0]    column_streams;
  logic [Rows-1:0]              row_there;
  logic [Columns-1:0]           column_there;
  logic                         ends, visit_over, group_ends, row_block_ends, column_block_ends;
  logic [DimW-1:0]              row_group, column_group;
  td_visits #(.Rows(Rows), .Columns(Columns)) u_visits (
    .clk_i, .start_i(go_i), .next_i(visit_over), .product_i, .row_streams_o(row_streams), .row_there_o(row_there),
    .column_streams_o(column_streams), .column_there_o(column_there), .row_group_o(row_group), .column_group_o(column_group), .group_ends_o(group_ends),
    .row_block_ends_o(row_block_ends), .column_block_ends_o(column_block_ends), .ends_o(ends)
  );

  // Places of the result are on the rows or on the columns, its channels on the other side.
  logic [Most*3*DimW-1:0]   places, channels;
  logic [Most-1:0]          place_there, channel_there;
  logic [Most*Most*AccW-1:0] values;  // place p, channel c at (p*Most + c)*AccW
  always_comb begin
    places        = '0;
    channels      = '0;
    place_there   = '0;
    channel_there = '0;
    values        = '0;
    if (product_i.primary_rows) begin
      places[0 +: Rows*3*DimW]      = row_streams;
      channels[0 +: Columns*3*DimW] = column_streams;
      place_there[0 +: Rows]        = row_there;
      channel_there[0 +: Columns]   = column_there;
    end else begin
      places[0 +: Columns*3*DimW]   = column_streams;
      channels[0 +: Rows*3*DimW]    = row_streams;
      place_there[0 +: Columns]     = column_there;
      channel_there[0 +: Rows]      = row_there;
    end
    for (int unsigned r = 0; r < Rows; r++) begin
      for (int unsigned c = 0; c < Columns; c++) begin
        if (product_i.primary_rows) values[(r*Most + c)*AccW +: AccW] = result_q[(r*Columns + c)*AccW +: AccW];
        else values[(c*Most + r)*AccW +: AccW] = result_q[(r*Columns + c)*AccW +: AccW];
      end
    end
    if (product_i.empty) values = '0;
  end

  // Channels of the current place that are not written yet; those in one block go together.
  logic [CountW-1:0]      place_q;
  logic [Most-1:0]        done_q, left, together;
  td_layer_pkg::digits_t  place, first;
  logic [Most*AccW-1:0]   row_values;
  logic                   busy, place_over, last_place;
  assign busy = held_q | (active_q & product_i.empty);
  assign left = channel_there & ~done_q;
  always_comb begin
    logic found;
    place      = places[0 +: 3*DimW];
    row_values = values[0 +: Most*AccW];
    last_place = 1'b1;
    for (int unsigned p = 0; p < Most; p++) begin
      if (place_q == CountW'(p)) begin
        place      = places[p*3*DimW +: 3*DimW];
        row_values = values[p*Most*AccW +: Most*AccW];
        last_place = p + 1 >= Most || !place_there[(p + 1) % Most];
      end
    end
    first = channels[0 +: 3*DimW];
    found = 1'b0;
    for (int unsigned c = 0; c < Most; c++) begin
      if (left[c] && !found) begin
        first = channels[c*3*DimW +: 3*DimW];
        found = 1'b1;
      end
    end
    for (int unsigned c = 0; c < Most; c++) begin
      together[c] = left[c] && channels[c*3*DimW + SideW +: 3*DimW - SideW] == {first.d2, first.d1, first.d0[DimW-1:SideW]};
    end
  end
  assign place_over     = busy & ((left & ~together) == '0);
  assign visit_over     = place_over & last_place;
  assign result_ready_o = active_q & ~product_i.empty & (~held_q | visit_over);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      held_q   <= 1'b0;
    end else if (go_i) begin
      active_q <= 1'b1;
      held_q   <= 1'b0;
    end else begin
      active_q <= active_q & ~(visit_over & ends);
      held_q   <= (result_valid_i & result_ready_o & ~(visit_over & ends)) | (held_q & ~visit_over);
    end
  end
  always_ff @(posedge clk_i) begin
    if (result_valid_i && result_ready_o) result_q <= result_i;
    if (go_i || visit_over) place_q <= '0;
    else if (place_over) place_q <= place_q + 1'b1;
    if (go_i || place_over) done_q <= '0;
    else if (busy) done_q <= done_q | together;
  end

  // The address takes three cycles from a register; the values go along.
  logic [Stages-1:0]              valid_q, last_q;
  logic [Stages*Most-1:0]         mask_q;
  logic [Stages*Most*AccW-1:0]    values_q;
  logic [Stages*Most*SideW-1:0]   lanes_q;
  logic [Most*SideW-1:0]          lanes;
  logic [DimW-1:0]                image_q, row_q, column_q, block_q;
  logic [AddrW-1:0]               address;
  always_comb begin
    for (int unsigned c = 0; c < Most; c++) lanes[c*SideW +: SideW] = channels[c*3*DimW +: SideW];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      last_q  <= '0;
    end else begin
      valid_q <= Stages'({valid_q, busy});
      last_q  <= Stages'({last_q, visit_over & ends});
    end
  end
  always_ff @(posedge clk_i) begin
    mask_q   <= (Stages*Most)'({mask_q, together});
    values_q <= (Stages*Most*AccW)'({values_q, row_values});
    lanes_q  <= (Stages*Most*SideW)'({lanes_q, lanes});
    image_q  <= place.d2;
    row_q    <= product_i.phase_h + (place.d1 << product_i.result_stride_h) + first.d2 * DimW'(product_i.kernel_w) + first.d1;
    column_q <= product_i.phase_w + (place.d0 << product_i.result_stride_w);
    block_q  <= first.d0 >> SideW;
  end
  td_block_address u_address (
    .clk_i, .rows_i(product_i.result_rows), .columns_i(product_i.result_columns), .channels_i(product_i.result_channels),
    .base_i(product_i.result_base), .image_i(image_q), .row_i(row_q), .column_i(column_q), .block_i(block_q),
    .address_o(address)
  );

  always_comb begin
    write_o = '0;
    block_o = '0;
    for (int unsigned c = 0; c < Most; c++) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (mask_q[(Stages-1)*Most + c] && lanes_q[((Stages-1)*Most + c)*SideW +: SideW] == SideW'(l)) begin
          write_o[l]               = valid_q[Stages-1];
          block_o[l*AccW +: AccW]  = values_q[((Stages-1)*Most + c)*AccW +: AccW];
        end
      end
    end
  end
  assign word_o     = WordW'(address);
  assign finished_o = last_q[Stages-1];

  logic unused;
  assign unused = ^{product_i, group_ends, row_block_ends, column_block_ends, row_group, column_group, address};
endmodule
