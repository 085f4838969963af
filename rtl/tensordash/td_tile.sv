// SPDX-License-Identifier: Apache-2.0
// A tile [TensorDash §3.3, Fig. 11]: Rows x Columns PEs. PEs of a row share the staging buffer of the B operand, PEs of a column
// that of the A operand, so all move in lock-step: by as many rows as every scheduler has drained.
module td_tile #(
  parameter int unsigned  Rows    = 4,
  parameter int unsigned  Columns = 4,
  // Operands whose zeros are skipped. 0: the baseline, the same PEs with one row staged, without scheduler and multiplexers;
  // 1: B, with a scheduler per row; 2: both, with a scheduler per PE [§3.1].
  parameter int unsigned  Sides   = 1,
  parameter int unsigned  ExpW    = 8,
  parameter int unsigned  ManIn   = 23,  // 23: FP32, 7: bfloat16
  parameter int unsigned  ManAcc  = 23,
  // Registers for a faster clock: behind the multiplexers, in multipliers, in adders; see td_pe.
  parameter bit           OperandReg = 1'b0,
  parameter int unsigned  MulRegs = 0,
  parameter int unsigned  AddRegs = 0,
  localparam int unsigned Lanes   = td_conn_pkg::Lanes,
  localparam int unsigned Depth   = td_conn_pkg::Depth,  // rows on offer; the baseline takes one
  localparam int unsigned SelW    = td_conn_pkg::SelW,
  localparam int unsigned AdvW    = td_conn_pkg::AdvW,
  localparam int unsigned Width   = ExpW + ManIn + 1,
  localparam int unsigned AccW    = ExpW + ManAcc + 1
) (
  input  logic                                 clk_i,           // clock
  input  logic                                 rst_ni,          // asynchronous reset, active low
  input  logic                                 bypass_i,        // no skipping [TensorDash §3.5]; see td_window_ctrl
  // The next Depth rows of both operands; see td_window_ctrl.
  input  logic [Depth-1:0]                     offer_valid_i,   // rows on offer, a prefix
  input  logic [Depth-1:0]                     offer_last_i,    // the row is the last of its stream
  input  logic [Columns*Depth*Lanes*Width-1:0] offer_a_i,       // column c at c*Depth*Lanes*Width
  input  logic [Rows*Depth*Lanes*Width-1:0]    offer_b_i,       // row r likewise
  output logic [AdvW-1:0]                      offer_take_o,    // rows taken this cycle
  output logic                                 issue_o,         // operands of this cycle are multiplied
  // Outputs: all PEs finish an output in the same cycle.
  output logic                                 result_valid_o,  // outputs are on offer
  input  logic                                 result_ready_i,  // they are taken
  output logic [Rows*Columns*AccW-1:0]         result_o         // PE (r, c) at (r*Columns + c)*AccW
);
  localparam int unsigned RowW   = Lanes * Width;
  localparam int unsigned Staged = Sides > 0 ? Depth : 1;   // rows of a staging buffer
  localparam int unsigned StageW = $clog2(Staged + 1);
  localparam int unsigned PeRows = Sides == 1 ? Depth : 1;  // rows of A that a PE sees: it multiplexes, or gets operands

  logic                                stall, enable, issue, first, last, move;
  logic [StageW-1:0]                   advance;
  logic [Staged-1:0]                   load;
  logic [Columns*Staged*RowW-1:0]      a_staged;
  logic [Rows*Columns*PeRows*RowW-1:0] a;      // of PE p at p*PeRows*RowW
  logic [Rows*Columns*RowW-1:0]        b;
  logic [Rows*Lanes*SelW-1:0]          sel;    // for PEs that multiplex A
  logic [Rows*Lanes-1:0]               valid;
  logic [Rows*Columns-1:0]             done;

  // A result that nobody takes holds the whole pipe.
  assign result_valid_o = done[0];
  assign stall          = result_valid_o & ~result_ready_i;
  assign enable         = ~stall;
  assign issue_o        = issue & enable;

  for (genvar c = 0; c < Columns; c++) begin : gen_column
    td_staging #(.Depth(Staged), .Bits(RowW)) u_a (
      .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load),
      .offered_i(offer_a_i[c*Depth*RowW +: Staged*RowW]), .staged_i(a_staged[c*Staged*RowW +: Staged*RowW]),
      .staged_o(a_staged[c*Staged*RowW +: Staged*RowW])
    );
  end

  if (Sides == 1) begin : gen_row_schedulers
    logic [Rows*RowW-1:0] operands, operands_q;
    td_tile_frontend #(.Rows(Rows), .Width(Width)) u_frontend (
      .clk_i, .rst_ni, .offer_valid_i, .offer_last_i, .offer_b_i, .offer_take_o, .bypass_i, .stall_i(stall),
      .issue_o(issue), .first_o(first), .last_o(last), .move_o(move), .advance_o(advance), .load_o(load),
      .sel_o(sel), .valid_o(valid), .operands_o(operands)
    );
    fp_cut #(.Bits(Rows*RowW), .Present(OperandReg)) u_operands (.clk_i, .enable_i(enable), .d_i(operands), .q_o(operands_q));
    for (genvar p = 0; p < Rows * Columns; p++) begin : gen_operands
      assign a[p*PeRows*RowW +: PeRows*RowW] = a_staged[(p % Columns)*Staged*RowW +: Staged*RowW];
      assign b[p*RowW +: RowW]               = operands_q[(p / Columns)*RowW +: RowW];
    end
  end else begin : gen_own_window
    logic [StageW-1:0]              take, slide;
    logic [Rows*Staged*RowW-1:0]    b_staged;
    logic [Rows*Columns*StageW-1:0] drained;
    logic                           bypass;  // of the stream in the window
    td_window_ctrl #(.Depth(Staged)) u_ctrl (
      .clk_i, .rst_ni, .offer_valid_i(offer_valid_i[Staged-1:0]), .offer_last_i(offer_last_i[Staged-1:0]),
      .offer_take_o(take), .bypass_i(Sides == 0 | bypass_i), .bypass_o(bypass), .slide_i(slide), .stall_i(stall), .issue_o(issue),
      .first_o(first), .last_o(last), .move_o(move), .advance_o(advance), .load_o(load)
    );
    assign offer_take_o = AdvW'(take);
    assign sel          = '0;
    assign valid        = {(Rows*Lanes){1'b1}};
    always_comb begin
      slide = '0;
      for (int unsigned s = 0; s < Staged; s++) begin
        logic all;
        all = 1'b1;
        for (int unsigned p = 0; p < Rows * Columns; p++) all = all & (drained[p*StageW +: StageW] > StageW'(s));
        if (all) slide = StageW'(s + 1);
      end
    end

    for (genvar r = 0; r < Rows; r++) begin : gen_row
      td_staging #(.Depth(Staged), .Bits(RowW)) u_b (
        .clk_i, .rst_ni, .move_i(move), .advance_i(advance), .load_i(load),
        .offered_i(offer_b_i[r*Depth*RowW +: Staged*RowW]), .staged_i(b_staged[r*Staged*RowW +: Staged*RowW]),
        .staged_o(b_staged[r*Staged*RowW +: Staged*RowW])
      );
    end

    if (Sides == 2) begin : gen_pe_schedulers
      logic [Columns*Depth*Lanes-1:0] a_effectual;
      logic [Rows*Depth*Lanes-1:0]    b_effectual;
      td_zero_detect #(.Count(Columns*Depth*Lanes), .Width(Width)) u_zero_a (.values_i(offer_a_i), .effectual_o(a_effectual));
      td_zero_detect #(.Count(Rows*Depth*Lanes), .Width(Width)) u_zero_b (.values_i(offer_b_i), .effectual_o(b_effectual));
      for (genvar r = 0; r < Rows; r++) begin : gen_row
        for (genvar c = 0; c < Columns; c++) begin : gen_pe
          localparam int unsigned Pe = r * Columns + c;
          logic [RowW-1:0]        b_now;
          td_pair_frontend #(.Width(Width)) u_frontend (
            .clk_i, .rst_ni, .a_effectual_i(a_effectual[c*Depth*Lanes +: Depth*Lanes]),
            .b_effectual_i(b_effectual[r*Depth*Lanes +: Depth*Lanes]), .a_staged_i(a_staged[c*Depth*RowW +: Depth*RowW]),
            .b_staged_i(b_staged[r*Depth*RowW +: Depth*RowW]), .bypass_i(bypass), .move_i(move), .advance_i(advance),
            .load_i(load), .drained_o(drained[Pe*AdvW +: AdvW]), .a_o(a[Pe*RowW +: RowW]), .b_o(b_now)
          );
          fp_cut #(.Bits(RowW), .Present(OperandReg)) u_operands (
            .clk_i, .enable_i(enable), .d_i(b_now), .q_o(b[Pe*RowW +: RowW])
          );
        end
      end
    end else begin : gen_dense
      assign drained = {(Rows*Columns){1'b1}};
      for (genvar p = 0; p < Rows * Columns; p++) begin : gen_operands
        assign a[p*RowW +: RowW] = a_staged[(p % Columns)*RowW +: RowW];
      end
      logic [Rows*RowW-1:0] b_staged_q;
      fp_cut #(.Bits(Rows*RowW), .Present(OperandReg)) u_operands (
        .clk_i, .enable_i(enable), .d_i(b_staged), .q_o(b_staged_q)
      );
      for (genvar p = 0; p < Rows * Columns; p++) begin : gen_b
        assign b[p*RowW +: RowW] = b_staged_q[(p / Columns)*RowW +: RowW];
      end
      logic unused;
      assign unused = ^{bypass_i, bypass, offer_valid_i, offer_last_i, offer_a_i, offer_b_i};
    end
  end

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    for (genvar c = 0; c < Columns; c++) begin : gen_pe
      localparam int unsigned Pe = r * Columns + c;
      td_pe #(
        .ExpW(ExpW), .ManIn(ManIn), .ManAcc(ManAcc), .Multiplexed(Sides == 1), .OperandReg(OperandReg), .MulRegs(MulRegs),
        .AddRegs(AddRegs)
      ) u_pe (
        .clk_i, .rst_ni, .enable_i(enable), .issue_i(issue), .first_i(first), .last_i(last),
        .a_staged_i(a[Pe*PeRows*RowW +: PeRows*RowW]), .sel_i(sel[r*Lanes*SelW +: Lanes*SelW]),
        .valid_i(valid[r*Lanes +: Lanes]), .b_i(b[Pe*RowW +: RowW]), .acc_o(result_o[Pe*AccW +: AccW]), .done_o(done[Pe])
      );
    end
  end

  logic unused_done;
  assign unused_done = ^done;
`ifndef SYNTHESIS
  if (Rows < 1 || Columns < 1) $error("td_tile: Rows and Columns must be at least 1");
  if (Sides > 2) $error("td_tile: Sides must be 0, 1 or 2");
  stream_check #(.Bits(Rows * Columns * AccW)) u_result_check (
    .clk_i, .rst_ni, .valid_i(result_valid_o), .ready_i(result_ready_i), .payload_i(result_o)
  );
`endif
endmodule
