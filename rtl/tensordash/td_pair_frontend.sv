// What one PE has in front of its multipliers if zeros of both operands are skipped [TensorDash §3.1, Fig. 8; §3.3]: the bits
// of its effectual pairs, a scheduler, and multiplexers for both operands. The staged values belong to the PE's row and
// column. Movement is the tile's decision (td_window_ctrl): all PEs go in lock-step.
module td_pair_frontend #(
  parameter int unsigned        Lanes   = td_conn_pkg::Lanes,
  parameter int unsigned        Depth   = td_conn_pkg::Depth,
  parameter int unsigned        Moves   = td_conn_pkg::Moves,
  parameter int unsigned        Levels  = td_conn_pkg::Levels,
  parameter logic [Moves*8-1:0] Step    = td_conn_pkg::Step,
  parameter logic [Moves*8-1:0] Offset  = td_conn_pkg::Offset,
  parameter logic [Lanes*8-1:0] LevelOf = td_conn_pkg::LevelOf,
  parameter int unsigned        Width   = 32,
  localparam int unsigned       SelW    = Moves > 1 ? $clog2(Moves) : 1,
  localparam int unsigned       AdvW    = $clog2(Depth + 1)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic [Depth*Lanes-1:0]       a_effectual_i,  // of the next rows of the column's A
  input  logic [Depth*Lanes-1:0]       b_effectual_i,  // of the next rows of the row's B
  input  logic [Depth*Lanes*Width-1:0] a_staged_i,
  input  logic [Depth*Lanes*Width-1:0] b_staged_i,
  input  logic                         bypass_i,       // dense steps: every lane takes its own pair of row 0
  input  logic                         move_i,         // from td_window_ctrl, as the next two
  input  logic [AdvW-1:0]              advance_i,
  input  logic [Depth-1:0]             load_i,
  output logic [AdvW-1:0]              drained_o,      // AS of this PE
  output logic [Lanes*Width-1:0]       a_o,            // operands of the multipliers
  output logic [Lanes*Width-1:0]       b_o
);
  logic [Depth*Lanes-1:0] pending, seen, left;
  logic [Lanes*SelW-1:0]  sel, scheduled;
  logic [Lanes-1:0]       valid, found;
  logic [AdvW-1:0]        drained;

  // Pairs of two non-zeros that no lane has used yet.
  td_staging #(.Depth(Depth), .Bits(Lanes)) u_pending (
    .clk_i, .rst_ni, .move_i, .advance_i, .load_i, .offered_i(a_effectual_i & b_effectual_i), .staged_i(left),
    .staged_o(pending)
  );

  // In bypass the scheduler's inputs rest at zero.
  assign seen = bypass_i ? '0 : pending;

  td_scheduler #(
    .Lanes(Lanes), .Depth(Depth), .Moves(Moves), .Levels(Levels), .Step(Step), .Offset(Offset), .LevelOf(LevelOf)
  ) u_scheduler (
    .window_i(seen), .enable_i({Lanes{1'b1}}), .window_o(left), .sel_o(scheduled), .valid_o(found), .drained_o(drained)
  );

  assign sel       = bypass_i ? '0 : scheduled;
  assign valid     = bypass_i ? {Lanes{1'b1}} : found;
  assign drained_o = bypass_i ? AdvW'(1) : drained;

  td_operand_mux #(
    .Lanes(Lanes), .Depth(Depth), .Moves(Moves), .Step(Step), .Offset(Offset), .Width(Width)
  ) u_mux_a (
    .staged_i(a_staged_i), .sel_i(sel), .valid_i(valid), .operands_o(a_o)
  );
  td_operand_mux #(
    .Lanes(Lanes), .Depth(Depth), .Moves(Moves), .Step(Step), .Offset(Offset), .Width(Width)
  ) u_mux_b (
    .staged_i(b_staged_i), .sel_i(sel), .valid_i(valid), .operands_o(b_o)
  );
endmodule
