// SPDX-License-Identifier: Apache-2.0
// The kernel positions on one axis that image positions first..last can meet [ANT: stage 2, s-range and r-range]. Image
// position t and kernel position r meet at u = e*t + P - d*r, and u/st is the output; the model's AxisMap says the same.
// d is a power of two. Combinational.
module outer_axis_range #(
  localparam int unsigned IdxW = outer_pkg::IdxW,
  localparam int unsigned CalW = outer_pkg::CalW
) (
  input  logic [IdxW-1:0]        first_i,        // first image position
  input  logic [IdxW-1:0]        last_i,         // last image position
  input  logic [2:0]             image_step_i,   // e: 1..7
  input  logic signed [CalW-1:0] offset_i,       // P
  input  logic signed [CalW-1:0] offset_low_i,   // P - st*(outputs - 1)
  input  logic [1:0]             kernel_log2_i,  // log2 of d
  input  logic [IdxW-1:0]        kernel_last_i,  // kernel positions - 1
  output logic [IdxW-1:0]        low_o,          // first kernel position
  output logic [IdxW-1:0]        high_o,         // last kernel position
  output logic                   empty_o         // there is none
);
  logic signed [CalW-1:0] low_sum, high_sum, low, high, round_up;
  // Division by d rounds up below and down above, also for negative numbers.
  assign round_up = $signed(CalW'(1) << kernel_log2_i) - $signed(CalW'(1));
  assign low_sum  = $signed(CalW'(first_i) * CalW'(image_step_i)) + offset_low_i + round_up;
  assign high_sum = $signed(CalW'(last_i) * CalW'(image_step_i)) + offset_i;
  assign low      = low_sum >>> kernel_log2_i;
  assign high     = high_sum >>> kernel_log2_i;

  logic above;  // the highest position lies past the kernel's last
  assign above   = ~high[CalW-1] & (high > $signed({{(CalW-IdxW){1'b0}}, kernel_last_i}));
  assign low_o   = low[CalW-1] ? '0 : low[IdxW-1:0];
  assign high_o  = above ? kernel_last_i : high[IdxW-1:0];
  assign empty_o = high[CalW-1] | (~low[CalW-1] & (low > $signed({{(CalW-IdxW){1'b0}}, high_o})));
endmodule
