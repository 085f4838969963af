// SPDX-License-Identifier: Apache-2.0
// The first n of k kernel columns that lie in a range, and where the next search begins [ANT: first-n-in-range with
// feedback]: at hit n+1 if the window has one, else behind the window. Combinational.
module ant_selector #(
  localparam int unsigned Lanes  = outer_pkg::Lanes,   // n
  localparam int unsigned Window = outer_pkg::Window,  // k
  localparam int unsigned IdxW   = outer_pkg::IdxW,
  localparam int unsigned PosW   = outer_pkg::PosW
) (
  input  logic [Window*IdxW-1:0] columns_i,  // kernel columns in CSR order
  input  logic [PosW-1:0]        count_i,    // how many of them are there
  input  logic [IdxW-1:0]        low_i,      // s0
  input  logic [IdxW-1:0]        high_i,     // s1
  output logic [Lanes*PosW-1:0]  position_o, // of each hit in the window
  output logic [Lanes-1:0]       valid_o,    // a prefix
  output logic [PosW-1:0]        next_o      // 1..Window: where the next window begins, relative to this one
);
  logic [Window-1:0] hit;
  always_comb begin
    for (int unsigned i = 0; i < Window; i++) begin
      hit[i] = (PosW'(i) < count_i) & (columns_i[i*IdxW +: IdxW] >= low_i) & (columns_i[i*IdxW +: IdxW] <= high_i);
    end
  end

  // seen[i*(Lanes+2) + n]: exactly n hits lie before place i; n = Lanes + 1 stands for more.
  logic [(Window+1)*(Lanes+2)-1:0] seen;
  always_comb begin
    seen    = '0;
    seen[0] = 1'b1;
    for (int unsigned i = 0; i < Window; i++) begin
      for (int unsigned n = 0; n < Lanes + 2; n++) begin
        seen[(i+1)*(Lanes+2) + n] = (seen[i*(Lanes+2) + n] & (~hit[i] | (n == Lanes + 1))) |
                                    (n > 0 && seen[i*(Lanes+2) + (n + Lanes + 1) % (Lanes + 2)] && hit[i]);
      end
    end
  end

  always_comb begin
    position_o = '0;
    valid_o    = '0;
    next_o     = PosW'(Window);
    for (int unsigned i = 0; i < Window; i++) begin
      for (int unsigned n = 0; n < Lanes; n++) begin
        if (hit[i] && seen[i*(Lanes+2) + n]) begin
          valid_o[n]                   = 1'b1;
          position_o[n*PosW +: PosW]   = position_o[n*PosW +: PosW] | PosW'(i);
        end
      end
      if (hit[i] && seen[i*(Lanes+2) + Lanes]) next_o = PosW'(i);
    end
  end
endmodule
