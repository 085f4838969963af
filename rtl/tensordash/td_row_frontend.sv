// What the PEs of a tile row share [TensorDash §3.3, Fig. 11]: zero detection, the staging buffer of the scheduled operand
// (B), the scheduler and the B multiplexers. Movement is the tile's decision (td_window_ctrl): rows go in lock-step.
module td_row_frontend #(
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
  input  logic [Depth*Lanes*Width-1:0] offered_i,   // the next rows of B
  input  logic                         bypass_i,    // dense steps: every lane takes its own value of row 0
  input  logic                         move_i,      // from td_window_ctrl, as the next two
  input  logic [AdvW-1:0]              advance_i,
  input  logic [Depth-1:0]             load_i,
  output logic [AdvW-1:0]              drained_o,   // AS of this row
  output logic [Lanes*SelW-1:0]        sel_o,       // MS, for the A multiplexers of the row's PEs
  output logic [Lanes-1:0]             valid_o,
  output logic [Lanes*Width-1:0]       operands_o   // B operands of all PEs of the row
);
  logic [Depth*Lanes-1:0]       offered_bits, pending, seen, left;
  logic [Depth*Lanes*Width-1:0] staged;
  logic [Lanes*SelW-1:0]        sel;
  logic [Lanes-1:0]             valid;
  logic [AdvW-1:0]              drained;

  td_zero_detect #(.Count(Depth * Lanes), .Width(Width)) u_zero (
    .values_i(offered_i), .effectual_o(offered_bits)
  );

  // Values, and the bits of those that no lane has used yet. Rows are kept only in a cycle that issues, so what stays is
  // what the scheduler left over.
  td_staging #(.Depth(Depth), .Bits(Lanes * Width)) u_staged (
    .clk_i, .rst_ni, .move_i, .advance_i, .load_i, .offered_i, .staged_i(staged), .staged_o(staged)
  );
  td_staging #(.Depth(Depth), .Bits(Lanes)) u_pending (
    .clk_i, .rst_ni, .move_i, .advance_i, .load_i, .offered_i(offered_bits), .staged_i(left), .staged_o(pending)
  );

  // In bypass the scheduler's inputs rest at zero.
  assign seen = bypass_i ? '0 : pending;

  td_scheduler #(
    .Lanes(Lanes), .Depth(Depth), .Moves(Moves), .Levels(Levels), .Step(Step), .Offset(Offset), .LevelOf(LevelOf)
  ) u_scheduler (
    .window_i(seen), .enable_i({Lanes{1'b1}}), .window_o(left), .sel_o(sel), .valid_o(valid), .drained_o(drained)
  );

  assign sel_o     = bypass_i ? '0 : sel;
  assign valid_o   = bypass_i ? {Lanes{1'b1}} : valid;
  assign drained_o = bypass_i ? AdvW'(1) : drained;

  td_operand_mux #(
    .Lanes(Lanes), .Depth(Depth), .Moves(Moves), .Step(Step), .Offset(Offset), .Width(Width)
  ) u_mux (
    .staged_i(staged), .sel_i(sel_o), .valid_i(valid_o), .operands_o
  );
endmodule
