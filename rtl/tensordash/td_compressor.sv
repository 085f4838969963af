// SPDX-License-Identifier: Apache-2.0
// Turns a group of rows of values into scheduled form [TensorDash §3.6]: rows of (value, idx) pairs and the number of steps
// that each row stands for. Iterative = 0 schedules a row per cycle with the front end's scheduler; Iterative = 1 is the
// backside scheduler [TensorDash §3.7], one level per cycle.
// A group's rows may hold fewer elements than there are lanes (tails); lanes without one are idle, as in the model
// (assumption A21).
module td_compressor #(
  parameter int unsigned  Width     = 32,
  parameter bit           Iterative = 1'b0,
  localparam int unsigned Lanes     = td_conn_pkg::Lanes,
  localparam int unsigned Depth     = td_conn_pkg::Depth,
  localparam int unsigned Levels    = td_conn_pkg::Levels,
  localparam int unsigned SelW      = td_conn_pkg::SelW,
  localparam int unsigned AdvW      = td_conn_pkg::AdvW
) (
  input  logic                         clk_i,            // clock
  input  logic                         rst_ni,           // asynchronous reset, active low
  // Rows of values; see td_window_ctrl.
  input  logic [Depth-1:0]             offer_valid_i,    // rows on offer, a prefix
  input  logic [Depth-1:0]             offer_last_i,     // the last row of a group
  input  logic [Depth*Lanes*Width-1:0] offer_values_i,   // values of the rows, the oldest lowest
  input  logic [Depth*Lanes-1:0]       offer_present_i,  // lanes of each row that hold an element
  output logic [AdvW-1:0]              offer_take_o,     // rows taken this cycle
  // A row in scheduled form.
  output logic                         row_valid_o,      // a row is on offer
  input  logic                         row_ready_i,      // it is taken
  output logic [Lanes*Width-1:0]       row_values_o,     // +0 where a lane is idle
  output logic [Lanes*SelW-1:0]        row_idx_o,        // 0 where a lane is idle
  output logic [Lanes-1:0]             row_present_o,    // slots that exist
  output logic [AdvW-1:0]              row_advance_o,    // steps that the row stands for, 1..Depth
  output logic                         row_last_o        // the group ends
);
  logic [Depth*Lanes-1:0]       offered_bits, pending, left, present;
  logic [Depth*Lanes*Width-1:0] staged;
  logic [Lanes*SelW-1:0]        sel;
  logic [Lanes-1:0]             valid;
  logic [AdvW-1:0]              drained, advance;
  logic [Depth-1:0]             load;
  logic                         move, issue, first, last, busy, dense;

  td_zero_detect #(.Count(Depth * Lanes), .Width(Width)) u_zero (
    .values_i(offer_values_i), .effectual_o(offered_bits)
  );
  td_staging #(.Bits(Lanes * Width)) u_staged (
    .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load), .offered_i(offer_values_i),
    .staged_i(staged), .staged_o(staged)
  );
  td_staging #(.Bits(Lanes)) u_present (
    .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load), .offered_i(offer_present_i),
    .staged_i(present), .staged_o(present)
  );
  td_staging #(.Bits(Lanes)) u_pending (
    .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load), .offered_i(offered_bits & offer_present_i),
    .staged_i(left), .staged_o(pending)
  );

  // A row leaves in the cycle in which its selection is complete; `busy` holds the window until then.
  td_window_ctrl u_ctrl (
    .clk_i, .rst_ni, .offer_valid_i, .offer_last_i, .offer_take_o, .bypass_i(1'b0), .bypass_o(dense),
    .slide_i(drained), .stall_i(busy | ~row_ready_i), .issue_o(issue), .first_o(first), .last_o(last), .move_o(move),
    .advance_o(advance), .load_o(load)
  );

  if (Iterative) begin : gen_iterative
    localparam int unsigned LevelW = Levels > 1 ? $clog2(Levels) : 1;
    logic [LevelW-1:0]      level_q;
    logic [Depth*Lanes-1:0] window, taken_q, after;
    logic [Lanes*SelW-1:0]  sel_q, level_sel;
    logic [Lanes-1:0]       valid_q, level_valid;
    logic                   final_level, loaded_q;

    assign window = pending & ~taken_q;
    td_iterative_scheduler u_scheduler (
      .level_i(level_q), .window_i(window), .enable_i(present[0 +: Lanes]), .window_o(after), .sel_o(level_sel),
      .valid_o(level_valid)
    );
    assign final_level = level_q == LevelW'(Levels - 1);
    assign busy        = ~final_level;
    assign left        = after;
    assign sel         = sel_q | level_sel;
    assign valid       = valid_q | level_valid;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        level_q  <= '0;
        taken_q  <= '0;
        sel_q    <= '0;
        valid_q  <= '0;
        loaded_q <= 1'b0;
      end else begin
        if (move) begin
          level_q  <= '0;
          taken_q  <= '0;
          sel_q    <= '0;
          valid_q  <= '0;
          loaded_q <= |load | ~last;
        end else if (loaded_q && !final_level) begin
          level_q <= level_q + 1'b1;
          taken_q <= pending & ~after;
          sel_q   <= sel;
          valid_q <= valid;
        end
      end
    end
  end else begin : gen_one_cycle
    logic [AdvW-1:0] unused_drained;  // the same as `drained`, which both forms share
    td_scheduler #(.Partial(1'b1)) u_scheduler (
      .window_i(pending), .enable_i(present[0 +: Lanes]), .window_o(left), .sel_o(sel), .valid_o(valid),
      .drained_o(unused_drained)
    );
    assign busy = 1'b0;
  end
  td_drained u_drained (.window_i(left), .drained_o(drained));

  td_operand_mux #(.Width(Width)) u_mux (
    .staged_i(staged), .sel_i(sel), .valid_i(valid), .operands_o(row_values_o)
  );
  assign row_valid_o   = issue & ~busy;
  assign row_idx_o     = sel;
  assign row_present_o = present[0 +: Lanes];
  assign row_advance_o = drained;
  assign row_last_o    = last;

  logic unused;
  assign unused = ^{first, dense, present};

`ifndef SYNTHESIS
  stream_check #(.Bits(Lanes * (Width + SelW + 1) + AdvW + 1)) u_row_check (
    .clk_i, .rst_ni, .valid_i(row_valid_o), .ready_i(row_ready_i),
    .payload_i({row_values_o, row_idx_o, row_present_o, row_advance_o, row_last_o})
  );
`endif
endmodule
