// SPDX-License-Identifier: Apache-2.0
// Maps the product of an image element and a kernel element to its output on one axis, or finds it redundant. The output step
// is a power of two. Combinational.
module outer_index #(
  localparam int unsigned IdxW = outer_pkg::IdxW,
  localparam int unsigned CalW = outer_pkg::CalW
) (
  input  logic [IdxW-1:0]        image_i,         // image position
  input  logic [IdxW-1:0]        kernel_i,        // kernel position
  input  logic [2:0]             image_step_i,    // e
  input  logic signed [CalW-1:0] offset_i,        // P
  input  logic [1:0]             kernel_log2_i,   // log2 of d
  input  logic [1:0]             output_log2_i,   // log2 of st
  input  logic [IdxW-1:0]        output_last_i,   // outputs - 1
  output logic [IdxW-1:0]        output_o,        // output position
  output logic                   valid_o          // there is such an output
);
  logic signed [CalW-1:0] u, o;
  logic                   divides;
  assign u = $signed(CalW'(image_i) * CalW'(image_step_i)) + offset_i - $signed(CalW'(kernel_i) << kernel_log2_i);
  assign o = u >>> output_log2_i;
  assign divides  = (o <<< output_log2_i) == u;
  assign output_o = o[IdxW-1:0];
  assign valid_o  = ~u[CalW-1] & divides & (o <= $signed({{(CalW-IdxW){1'b0}}, output_last_i}));
endmodule
