// The n x n multipliers of an outer-product PE and the output index of every product. One register stage.
module outer_multiplier #(
  parameter int unsigned  Lanes  = 4,
  parameter int unsigned  IdxW   = 9,
  parameter int unsigned  ExpW   = 8,
  parameter int unsigned  ManIn  = 7,
  parameter int unsigned  ManOut = 23,
  localparam int unsigned Width  = ExpW + ManIn + 1,
  localparam int unsigned OutW   = ExpW + ManOut + 1,
  localparam int unsigned CalW   = IdxW + 5
) (
  input  logic                        clk_i,
  input  logic                        enable_i,
  // The index map; see outer_axis_range. `matrix`: useful only if the rows are equal; output (image column, kernel column).
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
  // Both vectors.
  input  logic [Lanes-1:0]            image_valid_i,
  input  logic [Lanes*Width-1:0]      image_i,
  input  logic [Lanes*IdxW-1:0]       image_y_i,
  input  logic [Lanes*IdxW-1:0]       image_x_i,
  input  logic [Lanes-1:0]            kernel_valid_i,
  input  logic [Lanes*Width-1:0]      kernel_i,
  input  logic [Lanes*IdxW-1:0]       kernel_y_i,
  input  logic [Lanes*IdxW-1:0]       kernel_x_i,
  // To the accumulators: product of image element i and kernel element j at i*Lanes + j.
  output logic [Lanes*Lanes*OutW-1:0] product_o,
  output logic [Lanes*Lanes*IdxW-1:0] output_y_o,
  output logic [Lanes*Lanes*IdxW-1:0] output_x_o,
  output logic [Lanes*Lanes-1:0]      executed_o,  // both factors were there
  output logic [Lanes*Lanes-1:0]      useful_o     // and the product is not redundant
);
  for (genvar i = 0; i < Lanes; i++) begin : gen_image
    for (genvar j = 0; j < Lanes; j++) begin : gen_kernel
      localparam int unsigned At = i * Lanes + j;
      logic [OutW-1:0] product, product_q;
      logic [IdxW-1:0] out_y, out_x, out_y_q, out_x_q;
      logic            ok_y, ok_x, executed_q, useful_q, executed, same_row;
      fp_mul #(.ExpW(ExpW), .ManIn(ManIn), .ManOut(ManOut)) u_mul (
        .a_i(image_i[i*Width +: Width]), .b_i(kernel_i[j*Width +: Width]), .product_o(product)
      );
      outer_index #(.IdxW(IdxW)) u_y (
        .image_i(image_y_i[i*IdxW +: IdxW]), .kernel_i(kernel_y_i[j*IdxW +: IdxW]), .image_step_i(image_step_y_i),
        .offset_i(offset_y_i), .kernel_log2_i(kernel_log2_y_i), .output_log2_i(output_log2_y_i),
        .output_last_i(output_last_y_i), .output_o(out_y), .valid_o(ok_y)
      );
      outer_index #(.IdxW(IdxW)) u_x (
        .image_i(image_x_i[i*IdxW +: IdxW]), .kernel_i(kernel_x_i[j*IdxW +: IdxW]), .image_step_i(image_step_x_i),
        .offset_i(offset_x_i), .kernel_log2_i(kernel_log2_x_i), .output_log2_i(output_log2_x_i),
        .output_last_i(output_last_x_i), .output_o(out_x), .valid_o(ok_x)
      );
      assign executed = image_valid_i[i] & kernel_valid_i[j];
      assign same_row = image_y_i[i*IdxW +: IdxW] == kernel_y_i[j*IdxW +: IdxW];
      always_ff @(posedge clk_i) begin
        if (enable_i) begin
          product_q  <= product;
          out_y_q    <= matrix_i ? image_x_i[i*IdxW +: IdxW] : out_y;
          out_x_q    <= matrix_i ? kernel_x_i[j*IdxW +: IdxW] : out_x;
          executed_q <= executed;
          useful_q   <= executed & (matrix_i ? same_row : ok_y & ok_x);
        end
      end
      assign product_o[At*OutW +: OutW]  = product_q;
      assign output_y_o[At*IdxW +: IdxW] = out_y_q;
      assign output_x_o[At*IdxW +: IdxW] = out_x_q;
      assign executed_o[At]              = executed_q;
      assign useful_o[At]                = useful_q;
    end
  end
endmodule
