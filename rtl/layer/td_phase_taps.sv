// SPDX-License-Identifier: Apache-2.0
// The taps that one axis of an input gradient meets at positions of one phase, position mod stride: those whose distance from
// the output divides by the stride. The others would multiply zeros of the dilation, so no machine is charged for them.
module td_phase_taps #(
  localparam int unsigned DimW = td_layer_pkg::DimW,
  localparam int unsigned TapW = td_layer_pkg::TapW
) (
  input  logic [2:0]          phase_i,     // below the stride
  input  logic [1:0]          stride_i,    // log2
  input  logic [TapW-1:0]     kernel_i,    // of the layer, on this axis
  input  logic [TapW-1:0]     pad_i,       // of the layer, on this axis
  input  logic [TapW-1:0]     dilation_i,  // of the layer, on this axis
  output td_layer_pkg::taps_t taps_o       // count 0: none
);
  logic [DimW-1:0] from, distance, at_first;
  logic [TapW-1:0] first, hop;
  logic [1:0]      period;  // log2 of the taps from one to the next
  logic            found;
  always_comb begin
    // Stride 2^s and dilation d repeat after 2^s / gcd(2^s, d) taps.
    period = stride_i;
    if (dilation_i[0] == 1'b0 && stride_i >= 2'd1) period = stride_i - 2'd1;
    if (dilation_i[1:0] == 2'b0 && stride_i >= 2'd2) period = stride_i - 2'd2;
    if (dilation_i[2:0] == 3'b0 && stride_i == 2'd3) period = 2'd0;
    from     = DimW'(phase_i) + DimW'(pad_i);
    found    = 1'b0;
    first    = '0;
    at_first = '0;
    for (int unsigned k = 0; k < 8; k++) begin
      distance = from - DimW'(k) * DimW'(dilation_i);
      if (!found && (distance & ((DimW'(1) << stride_i) - 1'b1)) == '0) begin
        found    = 1'b1;
        first    = TapW'(k);
        at_first = distance;
      end
    end
    hop           = TapW'(({3'b0, dilation_i} << period) >> stride_i);
    taps_o.count  = found && first < kernel_i
                    ? TapW'(({3'b0, kernel_i - first} + (8'd1 << period) - 8'd1) >> period) : '0;
    taps_o.first  = first;
    taps_o.step   = TapW'(1) << period;
    taps_o.offset = DimW'($signed(at_first) >>> stride_i);
    taps_o.hop    = '0 - DimW'(hop);
  end
endmodule
