// SPDX-License-Identifier: Apache-2.0
// The SCNN-like PE, ANT's baseline: every vector of image non-zeros meets every vector of kernel non-zeros. Three stages:
// buffers; multipliers and output indices; accumulators, which lie outside as the kernel's buffers do.
module scnn_pe #(
  localparam int unsigned Lanes = outer_pkg::Lanes,
  localparam int unsigned IdxW  = outer_pkg::IdxW,
  localparam int unsigned PtrW  = outer_pkg::PtrW,
  localparam int unsigned OutW  = outer_pkg::OutW
) (
  input  logic                        clk_i,            // clock
  input  logic                        rst_ni,           // asynchronous reset, active low
  input  outer_pkg::index_map_t       map_i,            // of the pair in work; stable while the PE is busy
  // Image non-zeros in CSR order, at least one at a time.
  input  logic                        image_valid_i,    // a vector is on offer
  output logic                        image_ready_o,    // it is taken
  input  outer_pkg::vector_t          image_i,          // the vector
  // The kernel's elements in CSR order.
  input  logic [PtrW-1:0]             kernel_count_i,   // the kernel's elements
  output logic [PtrW-1:0]             kernel_place_o,   // Lanes elements from here on
  input  outer_pkg::elements_t        kernel_i,         // the elements from kernel_place_o on
  // To the accumulators; see outer_multiplier.
  input  logic                        out_ready_i,      // it is taken
  output logic                        out_valid_o,      // a result is on offer
  output logic [Lanes*Lanes*OutW-1:0] product_o,        // product of image element i and kernel element j at i*Lanes + j
  output logic [Lanes*Lanes*IdxW-1:0] output_y_o,       // row of the output that each product belongs to
  output logic [Lanes*Lanes*IdxW-1:0] output_x_o,       // its column
  output logic [Lanes*Lanes-1:0]      executed_o,       // pairs that exist
  output logic [Lanes*Lanes-1:0]      useful_o          // of those, pairs that belong to an output
);
  logic enable, advance, finished;
  logic out_valid_q;
  assign out_valid_o = out_valid_q;
  assign enable      = ~out_valid_q | out_ready_i;

  // The image vector stays while the kernel goes by.
  logic               s1_valid_q, mul_valid_q;
  logic [PtrW-1:0]    place_q;
  outer_pkg::vector_t s1_image_q, mul_image_q, mul_kernel_q;

  assign finished       = (PtrW+1)'(place_q) + (PtrW+1)'(Lanes) >= {1'b0, kernel_count_i};  // the sum may pass 2^PtrW
  assign advance        = enable & (~s1_valid_q | finished);
  assign image_ready_o  = advance;
  assign kernel_place_o = place_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s1_valid_q  <= 1'b0;
      mul_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else if (enable) begin
      if (advance) s1_valid_q <= image_valid_i;
      mul_valid_q <= s1_valid_q;
      out_valid_q <= mul_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (enable) begin
      if (advance) begin
        s1_image_q <= image_i;
        place_q    <= '0;
      end else begin
        place_q <= place_q + PtrW'(Lanes);
      end
      for (int unsigned n = 0; n < Lanes; n++) mul_kernel_q.there[n] <= place_q + PtrW'(n) < kernel_count_i;
      mul_kernel_q.at <= kernel_i;
      mul_image_q     <= s1_image_q;
    end
  end

  outer_multiplier u_multiplier (
    .clk_i, .enable_i(enable), .map_i, .image_i(mul_image_q), .kernel_i(mul_kernel_q), .product_o, .output_y_o,
    .output_x_o, .executed_o, .useful_o
  );

`ifndef SYNTHESIS
  stream_check #(.Bits($bits(image_i))) u_image_check (
    .clk_i, .rst_ni, .valid_i(image_valid_i), .ready_i(image_ready_o), .payload_i(image_i)
  );
  VectorIsPrefix : assert property (@(posedge clk_i) disable iff (!rst_ni)
      !image_valid_i || (image_i.there[0] && (image_i.there & (image_i.there + 1'b1)) == '0));
  stream_check #(.Bits(Lanes * Lanes * (OutW + 2 * IdxW + 2))) u_out_check (
    .clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i),
    .payload_i({product_o, output_y_o, output_x_o, executed_o, useful_o})
  );
`endif
endmodule
