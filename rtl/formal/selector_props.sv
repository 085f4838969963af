// SPDX-License-Identifier: Apache-2.0
// ANT's first-n-in-range selector, for every window of columns.
module selector_props #(
  localparam int unsigned Lanes  = 4,
  localparam int unsigned Window = 16,
  localparam int unsigned IdxW   = 9,
  localparam int unsigned PosW   = 5
) (
  input logic [Window*IdxW-1:0] columns_i,
  input logic [PosW-1:0]        count_i,
  input logic [IdxW-1:0]        low_i,
  input logic [IdxW-1:0]        high_i
);
  logic [Lanes*PosW-1:0] position;
  logic [Lanes-1:0]      valid;
  logic [PosW-1:0]       next;
  ant_selector u_dut (
    .columns_i, .count_i, .low_i, .high_i, .position_o(position), .valid_o(valid), .next_o(next)
  );

  logic [Window-1:0] hit, selected;
  always_comb begin
    selected = '0;
    for (int unsigned i = 0; i < Window; i++) begin
      hit[i] = i < count_i && columns_i[i*IdxW +: IdxW] >= low_i && columns_i[i*IdxW +: IdxW] <= high_i;
      for (int unsigned n = 0; n < Lanes; n++) if (valid[n] && position[n*PosW +: PosW] == i) selected[i] = 1'b1;
    end
  end

  always_comb begin
    assume (count_i <= Window);
    assert ((valid & (valid + 1'b1)) == '0);
    for (int unsigned n = 0; n < Lanes; n++) begin
      if (valid[n]) assert (position[n*PosW +: PosW] < Window);
      if (n > 0 && valid[n]) assert (position[n*PosW +: PosW] > position[(n+Lanes-1)%Lanes*PosW +: PosW]);
    end
    // Nothing out of range is issued; nothing in range is passed over before the place where the next search begins.
    assert ((selected & ~hit) == '0);
    for (int unsigned i = 0; i < Window; i++) if (i < next) assert (!hit[i] || selected[i]);
    assert (next >= 1 && next <= Window);
    // The search stops short only at a hit that found all lanes taken.
    if (next < Window) assert (valid == '1 && hit[next[3:0]]);
  end
endmodule
