// SPDX-License-Identifier: Apache-2.0
// Leading zeros of a number, by halves. Combinational.
module fp_leading_zeros #(
  parameter int unsigned  Bits   = 27,
  localparam int unsigned CountW = $clog2(Bits + 1)
) (
  input  logic [Bits-1:0]   number_i,  // the number
  output logic [CountW-1:0] zeros_o    // its leading zeros; Bits of them if it is zero
);
  localparam int unsigned Levels = $clog2(Bits) > 0 ? $clog2(Bits) : 1;
  localparam int unsigned Padded = 1 << Levels;

  // A heap: node n has the halves 2n and 2n + 1, the leaves are the bits, the highest first. Places that are missing below
  // count as set, so that a zero has Bits leading zeros.
  logic [2*Padded-1:0]            any;    // the node has a set bit
  logic [2*Padded*(Levels+1)-1:0] count;  // its leading zeros, if it has
  always_comb begin
    count = '0;
    any   = '0;
    for (int unsigned i = 0; i < Padded; i++) any[Padded + i] = i < Bits ? number_i[(2*Bits - 1 - i) % Bits] : 1'b1;
    for (int unsigned n = Padded - 1; n >= 1; n--) begin
      any[n] = any[2*n] | any[2*n + 1];
      count[n*(Levels+1) +: Levels+1] = any[2*n] ? count[2*n*(Levels+1) +: Levels+1]
          : count[(2*n + 1)*(Levels+1) +: Levels+1] | (Levels+1)'(Padded >> $clog2(n + 1));  // places of a half
    end
  end
  assign zeros_o = Padded == Bits && !any[1] ? CountW'(Bits) : CountW'(count[Levels+1 +: Levels+1]);

  logic unused;  // the heap begins at 1
  assign unused = ^{any[0], count[0 +: Levels+1]};
endmodule
