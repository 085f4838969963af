// A tile [TensorDash §3.3, Fig. 11]: Rows x Columns PEs. PEs of a row share the B operand and its scheduler, PEs of a column
// the staging buffer of the A operand; all rows move in lock-step. With TensorDash = 0 it is the baseline: the same PEs, one
// row of values staged, no scheduler and no multiplexers.
module td_tile #(
  parameter int unsigned        Rows       = 4,
  parameter int unsigned        Columns    = 4,
  parameter int unsigned        Lanes      = td_conn_pkg::Lanes,
  parameter int unsigned        Depth      = td_conn_pkg::Depth,  // rows that are offered; the baseline takes one
  parameter int unsigned        Moves      = td_conn_pkg::Moves,
  parameter int unsigned        Levels     = td_conn_pkg::Levels,
  parameter logic [Moves*8-1:0] Step       = td_conn_pkg::Step,
  parameter logic [Moves*8-1:0] Offset     = td_conn_pkg::Offset,
  parameter logic [Lanes*8-1:0] LevelOf    = td_conn_pkg::LevelOf,
  parameter int unsigned        ExpW       = 8,
  parameter int unsigned        ManIn      = 23,  // 23: FP32, 7: bfloat16
  parameter int unsigned        ManAcc     = 23,
  parameter bit                 TensorDash = 1'b1,
  localparam int unsigned       Width      = ExpW + ManIn + 1,
  localparam int unsigned       AccW       = ExpW + ManAcc + 1,
  localparam int unsigned       SelW       = Moves > 1 ? $clog2(Moves) : 1,
  localparam int unsigned       AdvW       = $clog2(Depth + 1)
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
  logic stall, enable;
  logic issue, first, last, move;
  logic [AdvW-1:0]             advance;
  logic [Depth-1:0]            load;
  logic [Rows*Lanes*SelW-1:0]  sel;
  logic [Rows*Lanes-1:0]       valid;
  logic [Rows*Lanes*Width-1:0] b;
  logic [Rows*Columns-1:0]     done;

  // A result that nobody takes holds the whole pipe.
  assign result_valid_o = done[0];
  assign stall          = result_valid_o & ~result_ready_i;
  assign enable         = ~stall;

  if (TensorDash) begin : gen_frontend
    td_tile_frontend #(
      .Rows(Rows), .Lanes(Lanes), .Depth(Depth), .Moves(Moves), .Levels(Levels), .Step(Step), .Offset(Offset),
      .LevelOf(LevelOf), .Width(Width)
    ) u_frontend (
      .clk_i, .rst_ni, .offer_valid_i, .offer_last_i, .offer_b_i, .offer_take_o, .bypass_i, .stall_i(stall),
      .issue_o(issue), .first_o(first), .last_o(last), .move_o(move), .advance_o(advance), .load_o(load),
      .sel_o(sel), .valid_o(valid), .operands_o(b)
    );
  end else begin : gen_dense
    logic take;
    td_window_ctrl #(.Depth(1)) u_ctrl (
      .clk_i, .rst_ni, .offer_valid_i(offer_valid_i[0]), .offer_last_i(offer_last_i[0]), .offer_take_o(take),
      .bypass_i(1'b1), .slide_i(1'b1), .stall_i(stall), .issue_o(issue), .first_o(first), .last_o(last), .move_o(move),
      .advance_o(advance[0]), .load_o(load[0])
    );
    assign offer_take_o = AdvW'(take);
    if (Depth > 1) begin : gen_unused
      assign load[Depth-1:1]   = '0;
      assign advance[AdvW-1:1] = '0;
    end
    assign sel   = '0;
    assign valid = {(Rows*Lanes){1'b1}};
    for (genvar r = 0; r < Rows; r++) begin : gen_row
      td_staging #(.Depth(1), .Bits(Lanes * Width)) u_b (
        .clk_i, .rst_ni, .move_i(move), .advance_i(advance[0]), .load_i(load[0]),
        .offered_i(offer_b_i[r*Depth*Lanes*Width +: Lanes*Width]),
        .staged_i(b[r*Lanes*Width +: Lanes*Width]), .staged_o(b[r*Lanes*Width +: Lanes*Width])
      );
    end
    logic unused;
    assign unused = ^{bypass_i, offer_valid_i, offer_last_i, offer_b_i, sel, valid, load, advance};
  end

  for (genvar c = 0; c < Columns; c++) begin : gen_column
    localparam int unsigned Staged = TensorDash ? Depth : 1;
    logic [Staged*Lanes*Width-1:0] a;
    td_staging #(.Depth(Staged), .Bits(Lanes * Width)) u_a (
      .clk_i, .rst_ni, .move_i(move), .advance_i(advance[$clog2(Staged+1)-1:0]), .load_i(load[Staged-1:0]),
      .offered_i(offer_a_i[c*Depth*Lanes*Width +: Staged*Lanes*Width]), .staged_i(a), .staged_o(a)
    );
    for (genvar r = 0; r < Rows; r++) begin : gen_pe
      td_pe #(
        .Lanes(Lanes), .Depth(Staged), .Moves(Moves), .Step(Step), .Offset(Offset), .ExpW(ExpW), .ManIn(ManIn),
        .ManAcc(ManAcc), .Multiplexed(TensorDash)
      ) u_pe (
        .clk_i, .rst_ni, .enable_i(enable), .issue_i(issue), .first_i(first), .last_i(last), .a_staged_i(a),
        .sel_i(sel[r*Lanes*SelW +: Lanes*SelW]), .valid_i(valid[r*Lanes +: Lanes]),
        .b_i(b[r*Lanes*Width +: Lanes*Width]),
        .acc_o(result_o[(r*Columns + c)*AccW +: AccW]), .done_o(done[r*Columns + c])
      );
    end
  end

  if (!TensorDash && Depth > 1) begin : gen_unused_a
    logic unused_a;
    assign unused_a = ^offer_a_i;
  end
  logic unused_done;
  assign unused_done = ^done;
endmodule
