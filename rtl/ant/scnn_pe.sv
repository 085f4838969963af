// The SCNN-like PE, ANT's baseline: every vector of image non-zeros meets every vector of kernel non-zeros. Three stages:
// buffers; multipliers and output indices; accumulators, which lie outside as the kernel's buffers do.
module scnn_pe #(
  parameter int unsigned  Lanes  = 4,   // n
  parameter int unsigned  IdxW   = 9,   // bits of a position
  parameter int unsigned  PtrW   = 16,  // bits of a place in the kernel's buffers
  parameter int unsigned  ExpW   = 8,
  parameter int unsigned  ManIn  = 7,   // 7: bfloat16, 23: FP32
  parameter int unsigned  ManOut = 23,
  localparam int unsigned Width  = ExpW + ManIn + 1,
  localparam int unsigned OutW   = ExpW + ManOut + 1,
  localparam int unsigned CalW   = IdxW + 5
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // The index map of the pair in work; see outer_axis_range. Stable while the PE is busy.
  input  logic                        matrix_i,
  input  logic [2:0]                  image_step_y_i,
  input  logic [2:0]                  image_step_x_i,
  input  logic signed [CalW-1:0]      offset_y_i,
  input  logic signed [CalW-1:0]      offset_x_i,
  input  logic [1:0]                  kernel_log2_y_i,
  input  logic [1:0]                  kernel_log2_x_i,
  input  logic [1:0]                  output_log2_y_i,
  input  logic [1:0]                  output_log2_x_i,
  input  logic [IdxW-1:0]             output_last_y_i,
  input  logic [IdxW-1:0]             output_last_x_i,
  // Image non-zeros in CSR order, Lanes at a time.
  input  logic                        image_valid_i,
  output logic                        image_ready_o,
  input  logic [Lanes-1:0]            image_lanes_i,    // a prefix: elements that are there, at least one
  input  logic [Lanes*Width-1:0]      image_i,
  input  logic [Lanes*IdxW-1:0]       image_y_i,
  input  logic [Lanes*IdxW-1:0]       image_x_i,
  // The kernel's elements in CSR order.
  input  logic [PtrW-1:0]             kernel_count_i,
  output logic [PtrW-1:0]             kernel_place_o,   // Lanes elements from here on
  input  logic [Lanes*Width-1:0]      kernel_i,
  input  logic [Lanes*IdxW-1:0]       kernel_y_i,
  input  logic [Lanes*IdxW-1:0]       kernel_x_i,
  // To the accumulators; see outer_multiplier.
  input  logic                        out_ready_i,
  output logic                        out_valid_o,
  output logic [Lanes*Lanes*OutW-1:0] product_o,
  output logic [Lanes*Lanes*IdxW-1:0] output_y_o,
  output logic [Lanes*Lanes*IdxW-1:0] output_x_o,
  output logic [Lanes*Lanes-1:0]      executed_o,
  output logic [Lanes*Lanes-1:0]      useful_o
);
  logic enable, advance, finished;
  logic out_valid_q;
  assign out_valid_o = out_valid_q;
  assign enable      = ~out_valid_q | out_ready_i;

  // The image vector stays while the kernel goes by.
  logic            s1_valid_q;
  logic [PtrW-1:0] place_q;
  logic [Lanes-1:0]       s1_image_lanes_q;
  logic [Lanes*Width-1:0] s1_image_q;
  logic [Lanes*IdxW-1:0]  s1_image_y_q, s1_image_x_q;
  logic                   mul_valid_q;
  logic [Lanes-1:0]       mul_image_lanes_q;
  logic [Lanes*Width-1:0] mul_image_q;
  logic [Lanes*IdxW-1:0]  mul_image_y_q, mul_image_x_q;
  logic [Lanes-1:0]       mul_kernel_lanes_q;
  logic [Lanes*Width-1:0] mul_kernel_q;
  logic [Lanes*IdxW-1:0]  mul_kernel_y_q, mul_kernel_x_q;

  assign finished       = place_q + PtrW'(Lanes) >= kernel_count_i;
  assign advance        = enable & (~s1_valid_q | finished);
  assign image_ready_o  = advance;
  assign kernel_place_o = place_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s1_valid_q         <= 1'b0;
      mul_valid_q        <= 1'b0;
      out_valid_q        <= 1'b0;
    end else if (enable) begin
      if (advance) s1_valid_q <= image_valid_i;
      mul_valid_q <= s1_valid_q;
      out_valid_q <= mul_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (enable) begin
      if (advance) begin
        s1_image_lanes_q <= image_lanes_i;
        s1_image_q       <= image_i;
        s1_image_y_q     <= image_y_i;
        s1_image_x_q     <= image_x_i;
        place_q          <= '0;
      end else begin
        place_q <= place_q + PtrW'(Lanes);
      end
      for (int unsigned n = 0; n < Lanes; n++) mul_kernel_lanes_q[n] <= place_q + PtrW'(n) < kernel_count_i;
      mul_kernel_q   <= kernel_i;
      mul_kernel_y_q <= kernel_y_i;
      mul_kernel_x_q <= kernel_x_i;
      mul_image_lanes_q <= s1_image_lanes_q;
      mul_image_q <= s1_image_q;
      mul_image_y_q <= s1_image_y_q;
      mul_image_x_q <= s1_image_x_q;
    end
  end

  outer_multiplier #(
    .Lanes(Lanes), .IdxW(IdxW), .ExpW(ExpW), .ManIn(ManIn), .ManOut(ManOut)
  ) u_multiplier (
    .clk_i, .enable_i(enable), .matrix_i, .image_step_y_i, .image_step_x_i, .offset_y_i, .offset_x_i,
    .kernel_log2_y_i, .kernel_log2_x_i, .output_log2_y_i, .output_log2_x_i, .output_last_y_i, .output_last_x_i,
    .image_valid_i(mul_image_lanes_q), .image_i(mul_image_q), .image_y_i(mul_image_y_q), .image_x_i(mul_image_x_q),
    .kernel_valid_i(mul_kernel_lanes_q), .kernel_i(mul_kernel_q), .kernel_y_i(mul_kernel_y_q),
    .kernel_x_i(mul_kernel_x_q), .product_o, .output_y_o, .output_x_o, .executed_o, .useful_o
  );
endmodule
