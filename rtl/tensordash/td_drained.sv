// SPDX-License-Identifier: Apache-2.0
// The AS signal [TensorDash §3.2]: rows that are empty from the front of what is left of a window. Combinational.
module td_drained #(
  localparam int unsigned Lanes = td_conn_pkg::Lanes,
  localparam int unsigned Depth = td_conn_pkg::Depth,
  localparam int unsigned AdvW  = td_conn_pkg::AdvW
) (
  input  logic [Depth*Lanes-1:0] window_i,  // pairs that are left
  output logic [AdvW-1:0]        drained_o  // 0..Depth
);
  logic stop;
  always_comb begin
    drained_o = '0;
    stop      = 1'b0;
    for (int unsigned s = 0; s < Depth; s++) begin
      stop = stop | (|window_i[s*Lanes +: Lanes]);
      if (!stop) drained_o = AdvW'(s + 1);
    end
  end
endmodule
