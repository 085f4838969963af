// SPDX-License-Identifier: Apache-2.0
// Checks the sender's side of a valid/ready handshake: what is on offer stands until it is taken. Simulation only.
module stream_check #(
  parameter int unsigned Bits = 1  // of the payload
) (
  input logic            clk_i,
  input logic            rst_ni,
  input logic            valid_i,
  input logic            ready_i,
  input logic [Bits-1:0] payload_i
);
  logic            waiting_q;  // something was on offer and not taken
  logic [Bits-1:0] held_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waiting_q <= 1'b0;
    else waiting_q <= valid_i & ~ready_i;
  end
  always_ff @(posedge clk_i) held_q <= payload_i;

  OfferStands : assert property (@(posedge clk_i) disable iff (!rst_ni) !waiting_q || (valid_i && payload_i == held_q));
endmodule
