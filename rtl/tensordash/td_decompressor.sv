// SPDX-License-Identifier: Apache-2.0
// Expands rows in scheduled form to the dense values they came from: the mirror of the multiplexers [TensorDash §3.6.1,
// Fig. 12]. The rows that a scheduled row completes leave together.
module td_decompressor #(
  parameter int unsigned  Width = 32,
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned Moves = td_conn_pkg::Moves,
  localparam int unsigned SelW  = td_conn_pkg::SelW,
  localparam int unsigned AdvW  = td_conn_pkg::AdvW
) (
  input  logic                         clk_i,          // clock
  input  logic                         rst_ni,         // asynchronous reset, active low
  input  logic                         row_valid_i,    // a row is on offer
  output logic                         row_ready_o,    // it is taken
  input  logic [Lanes*Width-1:0]       row_values_i,   // values of the row, by lane
  input  logic [Lanes*SelW-1:0]        row_idx_i,      // movement that each value was taken by
  input  logic [AdvW-1:0]              row_advance_i,  // 1..Depth; may run past the group's end, where the rows are zero
  input  logic                         row_last_i,     // the group ends
  output logic                         out_valid_o,    // a result is on offer
  input  logic                         out_ready_i,    // it is taken
  output logic [AdvW-1:0]              out_count_o,    // dense rows that are complete, from the lowest on
  output logic [Depth*Lanes*Width-1:0] out_rows_o,     // the rows, the oldest lowest
  output logic                         out_last_o      // the group ends with them
);
  logic [Depth*Lanes-1:0]       effectual_slot;
  logic [Lanes-1:0]             effectual;
  logic [Depth*Lanes*Width-1:0] placed, window_q, filled;

  td_zero_detect #(.Count(Lanes), .Width(Width)) u_zero (.values_i(row_values_i), .effectual_o(effectual));

  // Every place of the window may receive one value of the row: from the lane that reaches it by a movement.
  for (genvar s = 0; s < Depth; s++) begin : gen_step
    for (genvar x = 0; x < Lanes; x++) begin : gen_place
      localparam int unsigned At = s * Lanes + x;
      always_comb begin
        placed[At*Width +: Width] = '0;
        effectual_slot[At]        = 1'b0;
        for (int unsigned m = 0; m < Moves; m++) begin
          if (td_conn_pkg::step_of(m) == s && effectual[td_conn_pkg::lane_to(x, m)] &&
              row_idx_i[td_conn_pkg::lane_to(x, m)*SelW +: SelW] == SelW'(m)) begin
            effectual_slot[At]        = 1'b1;
            placed[At*Width +: Width] =
                placed[At*Width +: Width] | row_values_i[td_conn_pkg::lane_to(x, m)*Width +: Width];
          end
        end
      end
    end
  end
  assign filled = window_q | placed;

  assign out_valid_o = row_valid_i;
  assign row_ready_o = out_ready_i;
  assign out_count_o = row_advance_i;
  assign out_rows_o  = filled;
  assign out_last_o  = row_last_i;

  // Incomplete rows wait for the next scheduled row; after a group none are left.
  td_staging #(.Bits(Lanes * Width), .Reset(1'b1)) u_window (
    .clk_i, .rst_ni, .move_i(row_valid_i & out_ready_i), .advance_i(row_last_i ? AdvW'(Depth) : row_advance_i),
    .load_i('0), .offered_i('0), .staged_i(filled), .staged_o(window_q)
  );

`ifndef SYNTHESIS
  stream_check #(.Bits(Lanes * (Width + SelW) + AdvW + 1)) u_row_check (
    .clk_i, .rst_ni, .valid_i(row_valid_i), .ready_i(row_ready_o),
    .payload_i({row_values_i, row_idx_i, row_advance_i, row_last_i})
  );
  stream_check #(.Bits(Depth * Lanes * Width + AdvW + 1)) u_out_check (
    .clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i), .payload_i({out_rows_o, out_count_o, out_last_o})
  );
  for (genvar i = 0; i < Depth * Lanes; i++) begin : gen_assert
    PlaceIsFree : assert property (@(posedge clk_i) disable iff (!rst_ni)
        !(row_valid_i && effectual_slot[i] && (window_q[i*Width +: Width-1] != '0)));
  end
`else
  logic unused;
  assign unused = ^effectual_slot;
`endif
endmodule
