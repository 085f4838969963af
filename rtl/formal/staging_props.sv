// SPDX-License-Identifier: Apache-2.0
// The window and its staging buffer never lose, repeat or reorder a row, whatever the source, the scheduler and the sink do,
// with resets at any time and any mix of dense and scheduled streams; first and last cycles of streams are marked as such.
// Rows carry their number; since nothing looks at what a row holds, that stands for any contents.
module staging_props (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [2:0]  offer_valid_i,
  input logic [15:0] ends_i,     // bit t: every row whose number is t modulo 16 ends a stream; taken once, at the start
  input logic [1:0]  slide_i,
  input logic        bypass_i,   // any value in any cycle: the stream's is that of the cycle that takes its first row
  input logic        stall_i
);
  localparam int unsigned Depth = 3;
  localparam int unsigned TagW  = 6;

  logic            started_q = 1'b0;
  logic [15:0]     ends_q = '0;
  logic [TagW-1:0] next_q = '0;   // number of the first row on offer
  logic [TagW-1:0] head_q = '0;   // number of the oldest row that was not drained yet: the monitor's own count
  logic            full_q = 1'b0; // rows were taken and not all drained
  logic            edge_q = 1'b1; // the oldest row, or the next one, is the first of its stream
  logic            bypass_q = 1'b0; // the stream in the window runs densely

  logic [Depth-1:0]      offer_last, load, ctrl_last;
  logic                  ctrl_full, ctrl_bypass;
  logic [Depth*TagW-1:0] offered, staged;
  logic [1:0]            take, advance;
  logic                  issue, issued, first, last, move;
  assign issued = issue & ~stall_i;
  always_comb begin
    for (int unsigned s = 0; s < Depth; s++) begin
      offered[s*TagW +: TagW] = next_q + s;
      offer_last[s]           = ends_q[(next_q + s) % 16];
    end
  end

  td_window_ctrl #(.Depth(Depth)) u_ctrl (
    .clk_i, .rst_ni, .offer_valid_i(started_q ? offer_valid_i : 3'b000), .offer_last_i(offer_last),
    .offer_take_o(take), .bypass_i, .bypass_o(ctrl_bypass), .slide_i, .stall_i(stall_i), .issue_o(issue), .first_o(first),
    .last_o(last), .move_o(move), .advance_o(advance), .load_o(load), .formal_full_o(ctrl_full),
    .formal_last_o(ctrl_last)
  );
  td_staging #(.Depth(Depth), .Bits(TagW)) u_staging (
    .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load), .offered_i(offered), .staged_i(staged),
    .staged_o(staged)
  );

  // Rows of the current stream that the window must hold: up to its end, or a whole window; one in bypass.
  logic [1:0] held, gone;
  logic       cut, over, starts;
  always_comb begin
    held = '0;
    gone = '0;
    cut  = 1'b0;
    for (int unsigned s = 0; s < Depth; s++) begin
      if (!cut && (s == 0 || !bypass_q)) begin
        held = held + 1'b1;
        if (s < (bypass_q ? 1 : slide_i)) gone = gone + 1'b1;
        cut = ends_q[(head_q + s) % 16];
      end
    end
  end

  // The row that leaves ends its stream; the first row taken begins one.
  assign over   = ends_q[(head_q + gone - 1'b1) % 16];
  assign starts = !full_q || (issued && over);

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) ends_q <= ends_i;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      next_q   <= '0;
      head_q   <= '0;
      full_q   <= 1'b0;
      edge_q   <= 1'b1;
      bypass_q <= 1'b0;
    end else begin
      next_q <= next_q + take;
      if (issued) head_q <= head_q + gone;
      if (issued) edge_q <= over;
      if (issued) full_q <= head_q + gone != next_q + take;
      else if (take != 0) full_q <= 1'b1;
      if (take != 0 && starts) bypass_q <= bypass_i;
    end
  end

  always_comb begin
    assume ((offer_valid_i & (offer_valid_i + 3'b001)) == '0);
    assume (slide_i >= 1 && slide_i <= Depth);
    assume (started_q || !rst_ni);  // everything begins with a reset
    // Nothing is issued from an empty window, and every row taken is in the window until it is drained.
    if (issue) assert (full_q);
    assert (full_q == ctrl_full);
    if (full_q) assert (ctrl_bypass == bypass_q);
    if (full_q) assert (first == edge_q);
    else assert (edge_q);
    if (issue) assert (last == over);
    if (full_q) assert (next_q == TagW'(head_q + held));
    else assert (next_q == head_q);
    if (full_q) begin
      for (int unsigned s = 0; s < Depth; s++) begin
        if (s < held) begin
          assert (staged[s*TagW +: TagW] == TagW'(head_q + s));
          assert (ctrl_last[s] == ends_q[(head_q + s) % 16]);
        end else begin
          assert (staged[s*TagW +: TagW] == '0 && !ctrl_last[s]);
        end
      end
    end
    // Not more is taken than is offered.
    for (int unsigned s = 0; s < Depth; s++) if (take > s) assert (offer_valid_i[s]);
  end
endmodule
