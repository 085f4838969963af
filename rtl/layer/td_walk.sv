// SPDX-License-Identifier: Apache-2.0
// Walks over the streams of an operand, Lines at a time: the stream of each line of PEs, from three digits that count up.
module td_walk #(
  parameter int unsigned  Lines = 4,
  localparam int unsigned DimW  = td_layer_pkg::DimW
) (
  input  logic [DimW-1:0]         limit2_i,   // the digits stay below these
  input  logic [DimW-1:0]         limit1_i,   // below it, the middle digit
  input  logic [DimW-1:0]         limit0_i,   // below it, the fastest digit
  input  td_layer_pkg::digits_t   from_i,     // the first line's stream
  output logic [Lines*3*DimW-1:0] streams_o,  // digits_t of each line
  output logic [Lines-1:0]        there_o,    // lines that have a stream: a prefix
  output td_layer_pkg::digits_t   next_o,     // the stream after the last line's; the first one after the last stream
  output logic                    ends_o      // no stream is left for another group
);
  always_comb begin
    logic [DimW-1:0] d2, d1, d0;
    logic            over, carry1, carry2;
    {d2, d1, d0} = from_i;
    over         = 1'b0;
    streams_o    = '0;
    there_o      = '0;
    for (int unsigned l = 0; l < Lines; l++) begin
      streams_o[l*3*DimW +: 3*DimW] = {d2, d1, d0};
      there_o[l] = ~over;
      carry1 = d0 + 1'b1 == limit0_i;
      carry2 = carry1 & (d1 + 1'b1 == limit1_i);
      over   = over | (carry2 & (d2 + 1'b1 == limit2_i));
      d2     = carry2 ? d2 + 1'b1 : d2;
      d1     = carry2 ? '0 : carry1 ? d1 + 1'b1 : d1;
      d0     = carry1 ? '0 : d0 + 1'b1;
    end
    ends_o = over;
    next_o = over ? '0 : {d2, d1, d0};
  end
endmodule
