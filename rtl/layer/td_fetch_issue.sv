// SPDX-License-Identifier: Apache-2.0
// The address generator of one operand: the places of the blocks that its streams are made of, in the order of the
// scratchpads that they go to. A block of streams fills half of the scratchpads; a pass is all streams, block by block.
//
// Where lanes run along channels, every line of PEs asks for its own block of a step. Blocks of one step that lie in one bank of
// the memory follow one another; the others come in one cycle. Where lanes run across blocks [TensorDash §3.4], the Lanes blocks
// of a step come one per cycle, to be transposed, and serve the streams of all channels in them: a bundle.
module td_fetch_issue #(
  parameter int unsigned  Lines   = 4,                     // lines of PEs
  parameter int unsigned  Banks   = 4,                     // of the memory: blocks per cycle
  parameter int unsigned  SpaceW  = 7,                     // bits of a row of the scratchpads, both halves together
  localparam int unsigned DimW    = td_layer_pkg::DimW,
  localparam int unsigned TapW    = td_layer_pkg::TapW,
  localparam int unsigned Lanes   = td_conn_pkg::Lanes,
  localparam int unsigned AdvW    = td_conn_pkg::AdvW,
  localparam int unsigned SideW   = $clog2(Lanes)
) (
  input  logic                   clk_i,             // clock
  input  logic                   rst_ni,            // asynchronous reset, active low
  input  td_layer_pkg::product_t product_i,         // the product in work
  input  td_layer_pkg::operand_t operand_i,         // of it, the operand
  input  logic [DimW-1:0]        block_i,           // groups of Lines streams in a block
  input  logic                   go_i,              // the product begins
  input  logic                   pass_i,            // one more pass is wanted
  input  logic                   free_i,            // the half that is next is free
  output logic                   half_o,            // the half that is filled, or is next
  output logic                   begins_o,          // a block begins
  // Requests, of one step at most.
  output logic [Lines-1:0]       request_o,         // lines that ask for a block; with a transposer the lowest
  output logic [Lines-1:0]       inside_o,          // there is one; else it reads as zeros
  output logic [Lines*3*DimW-1:0] places_o,         // digits_t: image, row, column
  output logic [DimW-1:0]        block_o,           // channels of the block, in blocks
  output logic [Lanes-1:0]       keep_o,            // lanes that hold a channel
  output logic [SpaceW-2:0]      row_o,             // row of the half that the step goes to
  output logic [AdvW-1:0]        bank_o,            // bank of the scratchpad
  output logic                   group_o,           // a group is complete with this; not with a transposer
  output logic                   last_o,            // the half is full with this
  // With a transposer.
  output logic [SideW-1:0]       bundle_first_o,    // channel of the blocks that is the bundle's first stream
  output logic [SideW:0]         bundle_count_o,    // its streams
  input  logic                   bundle_done_i      // all of them are in the scratchpads
);
  localparam int unsigned Depth = td_conn_pkg::Depth;
  localparam int unsigned BankW = Banks > 1 ? $clog2(Banks) : 1;

  typedef enum logic [1:0] {Wait, Plain, Fill, Drain} state_t;
  state_t                state_q;
  td_layer_pkg::digits_t at_q, at_next;         // stream of the first line; first of the bundle
  logic [DimW-1:0]       passes_q, group_q;     // passes that are wanted; groups of the block that were there before
  logic [DimW-1:0]       room_q;                // streams that the block still takes
  logic                  half_q;
  logic [TapW-1:0]       tap_h_q, tap_w_q;
  logic [DimW-1:0]       inner_q, blocks;       // block of channels (or of filters) of a tap, and how many there are
  logic [SpaceW-2:0]     slot_q, row_q;         // row of the half where the group begins; from there, of the step
  logic [AdvW-1:0]       bank_q;
  logic [Lines-1:0]      done_q;                // lines that have their block of the step
  logic [SideW-1:0]      lane_q;
  logic [DimW-1:0]       image_q, grid_h_q, grid_w_q;  // position under a lane

  logic [Lines*3*DimW-1:0] streams;
  logic [Lines-1:0]        there;
  logic                    walk_ends;
  td_walk #(.Lines(Lines)) u_walk (
    .limit2_i(operand_i.streams2), .limit1_i(operand_i.streams1), .limit0_i(operand_i.streams0), .from_i(at_q),
    .streams_o(streams), .there_o(there), .next_o(at_next), .ends_o(walk_ends)
  );

  // The tap as a distance, and as a row of the weights.
  logic [DimW-1:0] tap_h, tap_w, hop_h, hop_w, kernel_row;
  assign tap_h      = operand_i.transposed ? at_q.d2 : DimW'(tap_h_q);
  assign tap_w      = operand_i.transposed ? at_q.d1 : DimW'(tap_w_q);
  assign hop_h      = operand_i.taps_h.offset + tap_h * operand_i.taps_h.hop;
  assign hop_w      = operand_i.taps_w.offset + tap_w * operand_i.taps_w.hop;
  assign kernel_row = (DimW'(operand_i.taps_h.first) + DimW'(tap_h_q) * DimW'(operand_i.taps_h.step)) * DimW'(product_i.kernel_w)
                      + DimW'(operand_i.taps_w.first) + DimW'(tap_w_q) * DimW'(operand_i.taps_w.step);

  // Blocks of a tap: of channels, or of filters where lanes run over these.
  assign blocks = ((operand_i.transposed ? operand_i.columns : operand_i.channels) + DimW'(Lanes - 1)) >> SideW;

  // Places, seen from each line. A coordinate below zero is a large number.
  logic [Lines-1:0]     wants, grant;
  logic [Lines*DimW-1:0] columns;
  always_comb begin
    places_o = '0;
    inside_o = '0;
    columns  = '0;
    for (int unsigned l = 0; l < Lines; l++) begin
      logic [DimW-1:0] d2, d1, d0, image, y, x;
      {d2, d1, d0} = streams[l*3*DimW +: 3*DimW];
      image        = '0;
      if (operand_i.weights) begin
        y = kernel_row;
        x = operand_i.transposed ? (inner_q << SideW) + DimW'(lane_q) : d0;
      end else if (operand_i.transposed) begin
        image = image_q;
        y     = (grid_h_q << operand_i.stride_h) + hop_h;
        x     = (grid_w_q << operand_i.stride_w) + hop_w;
      end else begin
        image = d2;
        y     = (d1 << operand_i.stride_h) + hop_h;
        x     = (d0 << operand_i.stride_w) + hop_w;
      end
      places_o[l*3*DimW +: 3*DimW] = {image, y, x};
      columns[l*DimW +: DimW]      = x;
      inside_o[l] = y < operand_i.rows && x < operand_i.columns
                    && (operand_i.weights || !operand_i.transposed || grid_h_q != product_i.grid_h);
    end
  end

  // Lines that get their block now: those that wait for it and meet no lower one in a bank.
  assign wants = there & ~done_q;
  always_comb begin
    logic [Banks-1:0] taken;
    logic [BankW-1:0] bank;
    taken = '0;
    grant = '0;
    for (int unsigned l = 0; l < Lines; l++) begin
      bank = BankW'(columns[l*DimW +: DimW] & DimW'(Banks - 1));
      if (wants[l] && !(inside_o[l] && taken[bank])) begin
        grant[l] = 1'b1;
        if (inside_o[l]) taken[bank] = 1'b1;
      end
    end
  end

  // The end of a step, of a group or bundle, of a block.
  logic                  step_ends, tap_ends, taps_end, positions_end, group_ends, plain_block_ends;
  logic                  bundle_pass_ends, bundle_block_ends;
  logic [SideW:0]        bundle_room, bundle_count;
  logic [DimW-1:0]       bundle_left, grid_h_d, grid_w_d;
  td_layer_pkg::digits_t bundle_next;
  assign step_ends        = state_q == Plain ? (wants & ~grant) == '0 : lane_q == SideW'(Lanes - 1);
  assign tap_ends         = inner_q + 1'b1 == blocks;
  assign taps_end         = tap_ends && tap_w_q + 1'b1 == operand_i.taps_w.count && tap_h_q + 1'b1 == operand_i.taps_h.count;
  assign group_ends       = step_ends & taps_end;
  assign plain_block_ends = group_ends & (walk_ends | (group_q + 1'b1 == block_i));

  assign grid_w_d      = grid_w_q + 1'b1 == product_i.grid_w ? '0 : grid_w_q + 1'b1;
  assign grid_h_d      = grid_h_q == product_i.grid_h ? grid_h_q : grid_w_d == '0 ? grid_h_q + 1'b1 : grid_h_q;
  assign positions_end = grid_h_d == product_i.grid_h;

  assign bundle_left       = operand_i.streams0 - at_q.d0;
  assign bundle_room       = (SideW+1)'(Lanes) - {1'b0, at_q.d0[SideW-1:0]};
  always_comb begin
    bundle_count = bundle_room;
    if (bundle_left < DimW'(bundle_count)) bundle_count = (SideW+1)'(bundle_left);
    if (room_q < DimW'(bundle_count)) bundle_count = (SideW+1)'(room_q);
    bundle_next      = at_q;
    bundle_pass_ends = 1'b0;
    bundle_next.d0   = at_q.d0 + DimW'(bundle_count);
    if (bundle_next.d0 == operand_i.streams0) begin
      bundle_next.d0 = '0;
      bundle_next.d1 = at_q.d1 + 1'b1;
      if (bundle_next.d1 == operand_i.streams1) begin
        bundle_next.d1 = '0;
        bundle_next.d2 = at_q.d2 + 1'b1;
        if (bundle_next.d2 == operand_i.streams2) begin
          bundle_next.d2   = '0;
          bundle_pass_ends = 1'b1;
        end
      end
    end
  end
  assign bundle_block_ends = bundle_pass_ends | (room_q == DimW'(bundle_count));

  logic begins, block_ends, pass_ends;
  assign begins     = state_q == Wait && passes_q != '0 && free_i && !go_i;
  assign block_ends = state_q == Plain ? plain_block_ends : state_q == Drain && bundle_done_i && bundle_block_ends;
  assign pass_ends  = block_ends & (state_q == Plain ? walk_ends : bundle_pass_ends);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Wait;
      passes_q <= '0;
      half_q   <= 1'b0;
    end else if (go_i) begin
      // Whoever begins a product has seen the last one's end: nothing is in work.
      state_q  <= Wait;
      passes_q <= DimW'(pass_i);
      half_q   <= 1'b0;
    end else begin
      passes_q <= passes_q + DimW'(pass_i) - DimW'(pass_ends);
      half_q   <= half_q ^ block_ends;
      unique case (state_q)
        Wait:  if (begins) state_q <= operand_i.transposed ? Fill : Plain;
        Plain: if (plain_block_ends) state_q <= Wait;
        Fill:  if (step_ends && (operand_i.weights ? taps_end : positions_end && image_q + 1'b1 == product_i.images)) begin
          state_q <= Drain;
        end
        Drain: if (bundle_done_i) state_q <= bundle_block_ends ? Wait : Fill;
        default: state_q <= Wait;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (go_i) at_q <= '0;
    else if (group_ends && state_q == Plain) at_q <= at_next;
    else if (state_q == Drain && bundle_done_i) at_q <= bundle_next;

    if (begins) begin
      group_q <= '0;
      slot_q  <= '0;
      room_q  <= block_i * DimW'(Lines);
    end else if (state_q == Plain && group_ends) begin
      group_q <= group_q + 1'b1;
      slot_q  <= slot_q + (SpaceW-1)'(product_i.lines);
    end else if (state_q == Drain && bundle_done_i) begin
      room_q  <= room_q - DimW'(bundle_count);
    end

    // Lines of a step, and lanes.
    if (state_q == Plain) done_q <= step_ends ? '0 : done_q | grant;
    else done_q <= '0;
    lane_q <= state_q == Fill ? lane_q + 1'b1 : '0;

    // Steps: by tap and block, or by image and position.
    if (state_q == Wait || state_q == Drain) begin
      inner_q  <= '0;
      tap_h_q  <= '0;
      tap_w_q  <= '0;
      row_q    <= '0;
      bank_q   <= '0;
      image_q  <= '0;
      grid_h_q <= '0;
      grid_w_q <= '0;
    end else begin
      if (step_ends) begin
        inner_q <= tap_ends ? '0 : inner_q + 1'b1;
        if (tap_ends) begin
          tap_w_q <= tap_w_q + 1'b1 == operand_i.taps_w.count ? '0 : tap_w_q + 1'b1;
          if (tap_w_q + 1'b1 == operand_i.taps_w.count) tap_h_q <= taps_end ? '0 : tap_h_q + 1'b1;
        end
        bank_q <= bank_q == AdvW'(Depth - 1) || group_ends ? '0 : bank_q + 1'b1;
        row_q  <= group_ends ? '0 : bank_q == AdvW'(Depth - 1) ? row_q + 1'b1 : row_q;
      end
      if (state_q == Fill) begin
        grid_h_q <= step_ends && positions_end ? '0 : grid_h_d;
        grid_w_q <= step_ends && positions_end ? '0 : grid_w_d;
        if (step_ends && positions_end) image_q <= image_q + 1'b1;
      end
    end
  end

  // The lanes of the last block that hold a channel.
  logic [SideW-1:0] tail;
  assign tail = operand_i.channels[SideW-1:0];
  always_comb begin
    keep_o = '1;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (!operand_i.transposed && tap_ends && tail != '0 && SideW'(l) >= tail) keep_o[l] = 1'b0;
    end
  end

  assign request_o      = state_q == Plain ? grant : state_q == Fill ? Lines'(1) : '0;
  assign block_o        = operand_i.transposed ? at_q.d0 >> SideW : inner_q;
  assign row_o          = slot_q + row_q;
  assign bank_o         = bank_q;
  assign group_o        = state_q == Plain && group_ends;
  assign last_o         = state_q == Plain ? plain_block_ends : block_ends;
  assign half_o         = half_q;
  assign begins_o       = begins;
  assign bundle_first_o = at_q.d0[SideW-1:0];
  assign bundle_count_o = bundle_count;

  logic unused;
  assign unused = ^{product_i, operand_i, walk_ends};
`ifndef SYNTHESIS
  if ((Banks & (Banks - 1)) != 0 || Banks > Lanes) $error("td_fetch_issue: Banks must be a power of two, Lanes at most");
  ProductsBeginIdle : assert property (@(posedge clk_i) disable iff (!rst_ni) !go_i || (state_q == Wait && passes_q == '0));
`endif
endmodule
