// SPDX-License-Identifier: Apache-2.0
// The way of an operand whose lanes run across blocks [TensorDash §3.4]: Lanes blocks of a step enter the transposer, and each
// column that leaves it is a step of one channel's stream. The columns of a bundle's channels go to the scratchpads.
module td_fetch_transposed #(
  parameter int unsigned  Lines   = 4,
  parameter int unsigned  Width   = 32,
  parameter int unsigned  SpaceW  = 7,                    // bits of a row of the scratchpads, both halves together
  localparam int unsigned Lanes   = td_conn_pkg::Lanes,
  localparam int unsigned AdvW    = td_conn_pkg::AdvW,
  localparam int unsigned StepW   = td_layer_pkg::StepW,
  localparam int unsigned SideW   = $clog2(Lanes),
  localparam int unsigned RowW    = Lanes * Width
) (
  input  logic              clk_i,             // clock
  input  logic              rst_ni,            // asynchronous reset, active low
  input  logic [StepW-1:0]  steps_i,           // of a stream
  input  logic [SpaceW-2:0] lines_i,           // rows of a scratchpad that a stream takes
  input  logic              begins_i,          // a block of streams begins: its first goes to the first line
  input  logic              valid_i,           // a block is there; the transposer is always ready
  input  logic [RowW-1:0]   block_i,           // the block
  input  logic [SideW-1:0]  bundle_first_i,    // channels that are streams of the bundle
  input  logic [SideW:0]    bundle_count_i,    // their number
  output logic              bundle_done_o,     // all its steps are written
  output logic [SpaceW-1:0] groups_o,          // with it: groups of the block that are complete
  output logic [Lines-1:0]  write_o,           // line whose scratchpad is written
  output logic [SpaceW-2:0] row_o,             // row of the half
  output logic [AdvW-1:0]   bank_o,            // bank of the scratchpad
  output logic [RowW-1:0]   data_o             // the step
);
  localparam int unsigned Depth = td_conn_pkg::Depth;
  localparam int unsigned LineW = Lines > 1 ? $clog2(Lines) : 1;

  logic             valid, ready;
  td_transposer #(.Size(Lanes), .Width(Width)) u_transposer (
    .clk_i, .rst_ni, .in_valid_i(valid_i), .in_ready_o(ready), .in_block_i(block_i), .in_last_i(1'b0),
    .out_valid_o(valid), .out_ready_i(1'b1), .out_block_o(data_o)
  );

  logic [SideW-1:0]  column_q;
  logic [StepW-1:0]  step_q;
  logic [SpaceW-2:0] step_row_q, slot_q, first_slot_q, slot_d;  // of the step; of the stream; of the bundle's first stream
  logic [SpaceW-1:0] groups_q, first_groups_q, groups_d;         // groups in front of the stream's, of the bundle's first
  logic [AdvW-1:0]   bank_q;
  logic [LineW-1:0]  line_q, first_line_q, line_d;
  logic              wanted, step_ends, bundle_ends;
  assign wanted      = column_q >= bundle_first_i
                       && {1'b0, column_q} < {1'b0, bundle_first_i} + bundle_count_i;
  assign step_ends   = valid & (column_q == SideW'(Lanes - 1));
  assign bundle_ends = step_ends & (step_q + 1'b1 == steps_i);
  always_comb begin
    line_d = line_q;
    slot_d = slot_q;
    groups_d = groups_q;
    if (wanted) begin
      line_d = line_q == LineW'(Lines - 1) ? '0 : line_q + 1'b1;
      if (line_q == LineW'(Lines - 1)) begin
        slot_d   = slot_q + lines_i;
        groups_d = groups_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      column_q <= '0;
      step_q   <= '0;
    end else if (valid) begin
      column_q <= step_ends ? '0 : column_q + 1'b1;
      if (step_ends) step_q <= bundle_ends ? '0 : step_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (begins_i) begin
      line_q       <= '0;
      slot_q       <= '0;
      first_line_q <= '0;
      first_slot_q <= '0;
      groups_q       <= '0;
      first_groups_q <= '0;
      bank_q       <= '0;
      step_row_q   <= '0;
    end else if (valid) begin
      // The next step begins with the bundle's first stream, the next bundle where this one ends.
      line_q <= step_ends && !bundle_ends ? first_line_q : line_d;
      slot_q <= step_ends && !bundle_ends ? first_slot_q : slot_d;
      groups_q <= step_ends && !bundle_ends ? first_groups_q : groups_d;
      if (bundle_ends) begin
        first_line_q <= line_d;
        first_slot_q <= slot_d;
        first_groups_q <= groups_d;
      end
      if (step_ends) begin
        bank_q     <= bundle_ends || bank_q == AdvW'(Depth - 1) ? '0 : bank_q + 1'b1;
        step_row_q <= bundle_ends ? '0 : bank_q == AdvW'(Depth - 1) ? step_row_q + 1'b1 : step_row_q;
      end
    end
  end

  assign write_o       = valid && wanted ? Lines'(1) << line_q : '0;
  assign row_o         = slot_q + step_row_q;
  assign bank_o        = bank_q;
  assign bundle_done_o = bundle_ends;
  assign groups_o      = groups_d;

`ifndef SYNTHESIS
  AlwaysReady : assert property (@(posedge clk_i) disable iff (!rst_ni) !valid_i || ready);
`else
  logic unused;
  assign unused = ready;
`endif
endmodule
