// SPDX-License-Identifier: Apache-2.0
// The n x n multipliers of an outer-product PE and the output index of every product. One register stage.
module outer_multiplier #(
  localparam int unsigned Lanes = outer_pkg::Lanes,
  localparam int unsigned IdxW  = outer_pkg::IdxW,
  localparam int unsigned Width = outer_pkg::Width,
  localparam int unsigned OutW  = outer_pkg::OutW
) (
  input  logic                        clk_i,       // clock
  input  logic                        enable_i,    // the pipe moves
  input  outer_pkg::index_map_t       map_i,       // where products belong
  input  outer_pkg::vector_t          image_i,     // the vector
  input  outer_pkg::vector_t          kernel_i,    // kernel elements
  // To the accumulators.
  output logic [Lanes*Lanes*OutW-1:0] product_o,   // product of image element i and kernel element j at i*Lanes + j
  output logic [Lanes*Lanes*IdxW-1:0] output_y_o,  // row of the output that each product belongs to
  output logic [Lanes*Lanes*IdxW-1:0] output_x_o,  // its column
  output logic [Lanes*Lanes-1:0]      executed_o,  // both factors were there
  output logic [Lanes*Lanes-1:0]      useful_o     // and the product is not redundant
);
  for (genvar i = 0; i < Lanes; i++) begin : gen_image
    for (genvar j = 0; j < Lanes; j++) begin : gen_kernel
      localparam int unsigned At = i * Lanes + j;
      logic [OutW-1:0] product, product_q;
      logic [IdxW-1:0] out_y, out_x, out_y_q, out_x_q;
      logic            ok_y, ok_x, executed_q, useful_q, executed, same_row;
      fp_mul #(.ExpW(outer_pkg::ExpW), .ManIn(outer_pkg::ManIn), .ManOut(outer_pkg::ManOut)) u_mul (
        .clk_i, .enable_i, .a_i(image_i.at.value[i*Width +: Width]), .b_i(kernel_i.at.value[j*Width +: Width]), .product_o(product)
      );
      outer_index u_y (
        .image_i(image_i.at.y[i*IdxW +: IdxW]), .kernel_i(kernel_i.at.y[j*IdxW +: IdxW]),
        .image_step_i(map_i.y.image_step), .offset_i(map_i.y.offset), .kernel_log2_i(map_i.y.kernel_log2),
        .output_log2_i(map_i.y.output_log2), .output_last_i(map_i.y.output_last), .output_o(out_y), .valid_o(ok_y)
      );
      outer_index u_x (
        .image_i(image_i.at.x[i*IdxW +: IdxW]), .kernel_i(kernel_i.at.x[j*IdxW +: IdxW]),
        .image_step_i(map_i.x.image_step), .offset_i(map_i.x.offset), .kernel_log2_i(map_i.x.kernel_log2),
        .output_log2_i(map_i.x.output_log2), .output_last_i(map_i.x.output_last), .output_o(out_x), .valid_o(ok_x)
      );
      assign executed = image_i.there[i] & kernel_i.there[j];
      assign same_row = image_i.at.y[i*IdxW +: IdxW] == kernel_i.at.y[j*IdxW +: IdxW];
      always_ff @(posedge clk_i) begin
        if (enable_i) begin
          product_q  <= product;
          out_y_q    <= map_i.matrix ? image_i.at.x[i*IdxW +: IdxW] : out_y;
          out_x_q    <= map_i.matrix ? kernel_i.at.x[j*IdxW +: IdxW] : out_x;
          executed_q <= executed;
          useful_q   <= executed & (map_i.matrix ? same_row : ok_y & ok_x);
        end
      end
      assign product_o[At*OutW +: OutW]  = product_q;
      assign output_y_o[At*IdxW +: IdxW] = out_y_q;
      assign output_x_o[At*IdxW +: IdxW] = out_x_q;
      assign executed_o[At]              = executed_q;
      assign useful_o[At]                = useful_q;
    end
  end

`ifndef SYNTHESIS
  logic started_q = 1'b0;  // registers have been written
  always_ff @(posedge clk_i) if (enable_i) started_q <= 1'b1;
  UsefulIsExecuted : assert property (@(posedge clk_i) !started_q || (useful_o & ~executed_o) == '0);
`endif

  logic unused;  // what only ANT's ranges need
  assign unused = ^{map_i.y.offset_low, map_i.y.kernel_last, map_i.x.offset_low, map_i.x.kernel_last};
endmodule
