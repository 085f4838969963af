// SPDX-License-Identifier: Apache-2.0
// A product of two unsigned numbers in two parts whose sum it is: partial products and a tree of carry-save adders, three
// numbers to two per level. Combinational.
module fp_partial_sums #(
  parameter int unsigned  Bits  = 24,
  localparam int unsigned ProdW = 2 * Bits
) (
  input  logic [Bits-1:0]  a_i,     // one factor
  input  logic [Bits-1:0]  b_i,     // the other
  output logic [ProdW-1:0] sum_o,   // the sums' bits
  output logic [ProdW-1:0] carry_o  // the carries'
);
  // Numbers that are left at a level.
  function automatic int unsigned numbers(input int unsigned level);
    numbers = Bits;
    for (int unsigned v = 0; v < level; v++) numbers = numbers - numbers / 3;
  endfunction
  function automatic int unsigned levels();
    int unsigned left;
    levels = 0;
    left   = Bits;
    for (int unsigned v = 0; v < Bits; v++) begin
      if (left > 2) begin
        left   = left - left / 3;
        levels = levels + 1;
      end
    end
  endfunction
  localparam int unsigned Levels = levels();

  // Level by level in place: numbers 3g to 3g + 2 become 2g and 2g + 1, what is left over moves up behind them.
  logic [Bits*ProdW-1:0] node;
  logic [ProdW-1:0]      x, y, z;
  always_comb begin
    x = '0;
    y = '0;
    z = '0;
    for (int unsigned i = 0; i < Bits; i++) node[i*ProdW +: ProdW] = b_i[i] ? ProdW'(a_i) << i : '0;
    for (int unsigned v = 0; v < Levels; v++) begin
      for (int unsigned g = 0; g < Bits / 3; g++) begin
        if (g < numbers(v) / 3) begin
          x = node[3*g*ProdW +: ProdW];
          y = node[(3*g + 1)*ProdW +: ProdW];
          z = node[(3*g + 2)*ProdW +: ProdW];
          node[2*g*ProdW +: ProdW]       = x ^ y ^ z;
          node[(2*g + 1)*ProdW +: ProdW] = ((x & y) | (x & z) | (y & z)) << 1;
        end
      end
      for (int unsigned i = 0; i < Bits; i++) begin
        if (i >= numbers(v) / 3 * 3 && i < numbers(v)) begin
          node[(i - numbers(v) / 3)*ProdW +: ProdW] = node[i*ProdW +: ProdW];
        end
      end
    end
  end
  assign sum_o = node[0 +: ProdW];
  if (Bits > 1) begin : gen_two
    assign carry_o = node[ProdW +: ProdW];
  end else begin : gen_one
    assign carry_o = '0;
  end
endmodule
