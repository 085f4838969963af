// A tile that skips zeros of both operands [TensorDash §3.1, §3.3]: one scheduler per PE. PEs of a row share the staging
// buffer of B, PEs of a column that of A, so all move in lock-step: by as many rows as the slowest PE has drained.
// Ports and handshakes are td_tile's.
module td_pair_tile #(
  parameter int unsigned        Rows    = 4,
  parameter int unsigned        Columns = 4,
  parameter int unsigned        Lanes   = td_conn_pkg::Lanes,
  parameter int unsigned        Depth   = td_conn_pkg::Depth,
  parameter int unsigned        Moves   = td_conn_pkg::Moves,
  parameter int unsigned        Levels  = td_conn_pkg::Levels,
  parameter logic [Moves*8-1:0] Step    = td_conn_pkg::Step,
  parameter logic [Moves*8-1:0] Offset  = td_conn_pkg::Offset,
  parameter logic [Lanes*8-1:0] LevelOf = td_conn_pkg::LevelOf,
  parameter int unsigned        ExpW    = 8,
  parameter int unsigned        ManIn   = 23,  // 23: FP32, 7: bfloat16
  parameter int unsigned        ManAcc  = 23,
  localparam int unsigned       Width   = ExpW + ManIn + 1,
  localparam int unsigned       AccW    = ExpW + ManAcc + 1,
  localparam int unsigned       AdvW    = $clog2(Depth + 1)
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  input  logic                                 bypass_i,        // no skipping [TensorDash §3.5]; changes between streams
  // The next Depth rows of both operands; see td_window_ctrl.
  input  logic [Depth-1:0]                     offer_valid_i,
  input  logic [Depth-1:0]                     offer_last_i,
  input  logic [Columns*Depth*Lanes*Width-1:0] offer_a_i,       // column c at c*Depth*Lanes*Width
  input  logic [Rows*Depth*Lanes*Width-1:0]    offer_b_i,       // row r likewise
  output logic [AdvW-1:0]                      offer_take_o,
  // Outputs: all PEs finish an output in the same cycle.
  output logic                                 result_valid_o,
  input  logic                                 result_ready_i,
  output logic [Rows*Columns*AccW-1:0]         result_o         // PE (r, c) at (r*Columns + c)*AccW
);
  localparam int unsigned Window = Depth * Lanes;

  logic                            stall, enable, issue, first, last, move;
  logic [AdvW-1:0]                 advance, slide;
  logic [Depth-1:0]                load;
  logic [Columns*Window-1:0]       a_effectual;
  logic [Rows*Window-1:0]          b_effectual;
  logic [Columns*Window*Width-1:0] a_staged;
  logic [Rows*Window*Width-1:0]    b_staged;
  logic [Rows*Columns*AdvW-1:0]    drained;
  logic [Rows*Columns-1:0]         done;

  // A result that nobody takes holds the whole pipe.
  assign result_valid_o = done[0];
  assign stall          = result_valid_o & ~result_ready_i;
  assign enable         = ~stall;

  always_comb begin
    slide = AdvW'(Depth);
    for (int unsigned p = 0; p < Rows * Columns; p++) begin
      if (drained[p*AdvW +: AdvW] < slide) slide = drained[p*AdvW +: AdvW];
    end
  end

  td_window_ctrl #(.Depth(Depth)) u_ctrl (
    .clk_i, .rst_ni, .offer_valid_i, .offer_last_i, .offer_take_o, .bypass_i, .slide_i(slide), .stall_i(stall),
    .issue_o(issue), .first_o(first), .last_o(last), .move_o(move), .advance_o(advance), .load_o(load)
  );

  td_zero_detect #(.Count(Columns * Window), .Width(Width)) u_zero_a (.values_i(offer_a_i), .effectual_o(a_effectual));
  td_zero_detect #(.Count(Rows * Window), .Width(Width)) u_zero_b (.values_i(offer_b_i), .effectual_o(b_effectual));

  for (genvar c = 0; c < Columns; c++) begin : gen_column
    td_staging #(.Depth(Depth), .Bits(Lanes * Width)) u_a (
      .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load),
      .offered_i(offer_a_i[c*Window*Width +: Window*Width]), .staged_i(a_staged[c*Window*Width +: Window*Width]),
      .staged_o(a_staged[c*Window*Width +: Window*Width])
    );
  end
  for (genvar r = 0; r < Rows; r++) begin : gen_row
    td_staging #(.Depth(Depth), .Bits(Lanes * Width)) u_b (
      .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load),
      .offered_i(offer_b_i[r*Window*Width +: Window*Width]), .staged_i(b_staged[r*Window*Width +: Window*Width]),
      .staged_o(b_staged[r*Window*Width +: Window*Width])
    );

    for (genvar c = 0; c < Columns; c++) begin : gen_pe
      logic [Lanes*Width-1:0] a, b;
      td_pair_frontend #(
        .Lanes(Lanes), .Depth(Depth), .Moves(Moves), .Levels(Levels), .Step(Step), .Offset(Offset), .LevelOf(LevelOf),
        .Width(Width)
      ) u_frontend (
        .clk_i, .rst_ni, .a_effectual_i(a_effectual[c*Window +: Window]), .b_effectual_i(b_effectual[r*Window +: Window]),
        .a_staged_i(a_staged[c*Window*Width +: Window*Width]), .b_staged_i(b_staged[r*Window*Width +: Window*Width]),
        .bypass_i, .move_i(move), .advance_i(advance), .load_i(load),
        .drained_o(drained[(r*Columns + c)*AdvW +: AdvW]), .a_o(a), .b_o(b)
      );
      // Both operands come multiplexed, so the PE itself is the baseline's.
      td_pe #(
        .Lanes(Lanes), .Depth(1), .Moves(1), .Step('0), .Offset('0), .ExpW(ExpW), .ManIn(ManIn), .ManAcc(ManAcc),
        .Multiplexed(1'b0)
      ) u_pe (
        .clk_i, .rst_ni, .enable_i(enable), .issue_i(issue), .first_i(first), .last_i(last), .a_staged_i(a),
        .sel_i('0), .valid_i({Lanes{1'b1}}), .b_i(b), .acc_o(result_o[(r*Columns + c)*AccW +: AccW]),
        .done_o(done[r*Columns + c])
      );
    end
  end

  logic unused_done;
  assign unused_done = ^done;
endmodule
