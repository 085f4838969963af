// SPDX-License-Identifier: Apache-2.0
// When the window of a tile moves, and by how much. Streams (one per output) come one after another; a window never spans
// two of them. The source offers its next Depth rows at once, as banked scratchpads do [TensorDash §3.1], possibly running
// into the next stream; this block says how many it takes, and an offer stands until then. Without stalls a new stream
// follows the last one with no cycle lost. If the rows that the window needs are not offered, the tile waits, so that stalls
// never change a schedule.
module td_window_ctrl #(
  parameter int unsigned  Depth = td_conn_pkg::Depth,
  localparam int unsigned AdvW  = $clog2(Depth + 1)
) (
  input  logic             clk_i,          // clock
  input  logic             rst_ni,         // asynchronous reset, active low
  // Rows on offer.
  input  logic [Depth-1:0] offer_valid_i,  // a prefix: the first n rows are there
  input  logic [Depth-1:0] offer_last_i,   // the row is the last of its stream
  output logic [AdvW-1:0]  offer_take_o,   // rows taken this cycle
  // The tile.
  // Dense steps, row 0 only [TensorDash §3.5]: of the stream whose first row is on offer, ignored while later ones are.
  input  logic             bypass_i,       // the stream takes dense steps
  output logic             bypass_o,       // of the stream in the window
  input  logic [AdvW-1:0]  slide_i,        // the smallest AS of the tile's rows, 1..Depth unless stall_i is set
  input  logic             stall_i,        // the pipe behind the window cannot move
  output logic             issue_o,        // the window's selection can leave; it does unless stall_i is set
  output logic             first_o,        // with issue_o: the stream's first cycle
  output logic             last_o,         // with issue_o: the stream's last cycle
  // Staging buffers.
  output logic             move_o,         // the window moves
  output logic [AdvW-1:0]  advance_o,      // rows that leave it
  output logic [Depth-1:0] load_o          // offered rows that enter it
`ifdef FORMAL
  // For the proof's invariant.
  , output logic             formal_full_o
  , output logic [Depth-1:0] formal_last_o
`endif
);
  logic             full_q, full_d;    // the window holds a stream
  logic             fresh_q, fresh_d;  // nothing of it was issued yet
  logic [Depth-1:0] last_q;            // the row is the last of the stream
  logic             bypass_q;          // the stream in the window takes dense steps
  logic             ends, enough, starts, dense;

  // The slide comes late, from the schedulers. So all that follows is worked out for every slide there may be, a + 1 at
  // place a, and the slide only chooses.
  logic [Depth-1:0]       ends_at;    // the slide drains the row that ends the stream
  logic [Depth-1:0]       starts_at;  // what enters begins a stream
  logic [Depth-1:0]       dense_at;   // it enters in dense steps
  logic [Depth-1:0]       enough_at;  // the rows that are to enter are on offer
  logic [Depth-1:0]       issue_at, move_at;
  logic [Depth*Depth-1:0] load_at;
  always_comb begin
    logic             closed, cut;
    logic [Depth-1:0] wanted;
    for (int unsigned a = 0; a < Depth; a++) begin
      ends_at[a] = 1'b0;
      for (int unsigned s = 0; s < Depth; s++) ends_at[a] = ends_at[a] | (last_q[s] & (bypass_q | s <= a));
      ends_at[a] = ends_at[a] & full_q;
      // The stream's end is in the window and stays there: nothing more to take.
      closed       = full_q & ~ends_at[a] & (|last_q);
      starts_at[a] = ends_at[a] | ~full_q;
      dense_at[a]  = starts_at[a] ? bypass_i : bypass_q;
      // Rows that are to enter: as many as leave, up to the end of a stream.
      wanted       = '0;
      enough_at[a] = 1'b1;
      cut          = closed;
      for (int unsigned s = 0; s < Depth; s++) begin
        if (!cut && (dense_at[a] ? s == 0 : (starts_at[a] || s <= a))) begin
          wanted[s]    = 1'b1;
          enough_at[a] = enough_at[a] & offer_valid_i[s];
          cut          = offer_last_i[s];
        end
      end
      issue_at[a]                = full_q & (closed | enough_at[a] | ends_at[a]);
      move_at[a]                 = (issue_at[a] & ~stall_i) | (~full_q & enough_at[a]);
      load_at[a*Depth +: Depth]  = enough_at[a] && move_at[a] ? wanted : '0;
    end
  end

  // An empty window, or one that waits, may show any slide.
  always_comb begin
    ends    = ends_at[0];
    starts  = starts_at[0];
    dense   = dense_at[0];
    enough  = enough_at[0];
    issue_o = issue_at[0];
    move_o  = move_at[0];
    load_o  = load_at[0 +: Depth];
    for (int unsigned a = 1; a < Depth; a++) begin
      if (slide_i == AdvW'(a + 1)) begin
        ends    = ends_at[a];
        starts  = starts_at[a];
        dense   = dense_at[a];
        enough  = enough_at[a];
        issue_o = issue_at[a];
        move_o  = move_at[a];
        load_o  = load_at[a*Depth +: Depth];
      end
    end
  end
  assign first_o   = fresh_q;
  assign last_o    = ends;
  assign advance_o = (bypass_q || starts) ? AdvW'(Depth) : slide_i;

  always_comb begin
    offer_take_o = '0;
    for (int unsigned s = 0; s < Depth; s++) offer_take_o = offer_take_o + AdvW'(load_o[s]);
  end

  // The window is empty after a stream's end if the next one is not on offer yet.
  assign full_d   = ends ? enough : 1'b1;
  assign fresh_d  = starts;
  assign bypass_o = bypass_q;

  td_staging #(.Depth(Depth), .Bits(1)) u_last (
    .clk_i, .rst_ni, .move_i(move_o), .advance_i(advance_o), .load_i(load_o), .offered_i(offer_last_i),
    .staged_i(last_q), .staged_o(last_q)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q   <= 1'b0;
      fresh_q  <= 1'b0;
      bypass_q <= 1'b0;
    end else if (move_o) begin
      full_q   <= full_d;
      fresh_q  <= fresh_d;
      bypass_q <= dense;
    end
  end

`ifdef FORMAL
  assign formal_full_o = full_q;
  assign formal_last_o = last_q;
`endif

`ifndef SYNTHESIS
  // The comparison is constant where Depth + 1 is a power of two.
  // verilator lint_off CMPCONST
  OfferIsPrefix : assert property (@(posedge clk_i) disable iff (!rst_ni)
      (offer_valid_i & (offer_valid_i + 1'b1)) == '0);
  logic [Depth-1:0] shown_q;  // offered and not taken
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) shown_q <= '0;
    else shown_q <= offer_valid_i >> offer_take_o;
  end
  OfferStands : assert property (@(posedge clk_i) disable iff (!rst_ni) (shown_q & ~offer_valid_i) == '0);
  SlideInRange : assert property (@(posedge clk_i) disable iff (!rst_ni)
      !full_q || stall_i || (slide_i >= 1 && slide_i <= AdvW'(Depth)));
  // verilator lint_on CMPCONST
  if (Depth < 1) $error("td_window_ctrl: Depth must be at least 1");
`endif
endmodule
