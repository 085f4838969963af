// SPDX-License-Identifier: Apache-2.0
// Test bench: td_tile with its handshake inside brought out.
module tb_tile #(
  parameter int unsigned  Rows    = 4,
  parameter int unsigned  Columns = 4,
  parameter int unsigned  Sides   = 1,
  parameter int unsigned  ManIn   = 23,
  parameter bit           OperandReg = 1'b0,
  parameter int unsigned  MulRegs = 0,
  parameter int unsigned  AddRegs = 0,
  localparam int unsigned Lanes   = td_conn_pkg::Lanes,
  localparam int unsigned Depth   = td_conn_pkg::Depth,
  localparam int unsigned Width   = 9 + ManIn,
  localparam int unsigned AdvW    = $clog2(Depth + 1)
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  input  logic                                 bypass_i,
  input  logic [Depth-1:0]                     offer_valid_i,
  input  logic [Depth-1:0]                     offer_last_i,
  input  logic [Columns*Depth*Lanes*Width-1:0] offer_a_i,
  input  logic [Rows*Depth*Lanes*Width-1:0]    offer_b_i,
  output logic [AdvW-1:0]                      offer_take_o,
  output logic                                 result_valid_o,
  input  logic                                 result_ready_i,
  output logic [Rows*Columns*32-1:0]           result_o,
  // Insides.
  output logic                                 issue_o,
  output logic                                 enable_o
);
  td_tile #(.Rows(Rows), .Columns(Columns), .Sides(Sides), .ManIn(ManIn), .OperandReg(OperandReg), .MulRegs(MulRegs),
            .AddRegs(AddRegs)) u_dut (
    .clk_i, .rst_ni, .bypass_i, .offer_valid_i, .offer_last_i, .offer_a_i, .offer_b_i, .offer_take_o, .issue_o,
    .result_valid_o, .result_ready_i, .result_o
  );
  assign enable_o = u_dut.enable;
endmodule
