// SPDX-License-Identifier: Apache-2.0
// A PE of ANT: before anything is multiplied, the range of kernel rows and columns that can be useful is computed for each
// vector of image non-zeros, and only kernel non-zeros in that range are issued. Six stages, as the authors' talk shows them:
// image vector; ranges; row pointers and kernel columns; first n in range; kernel values; multipliers and output indices.
// The accumulators lie outside, as do the kernel's buffers, which are read combinationally: the search begins where the one
// before ended, so its loop (place, columns, selection, next place) must close within a cycle.
module ant_pe #(
  localparam int unsigned Lanes  = outer_pkg::Lanes,
  localparam int unsigned Window = outer_pkg::Window,
  localparam int unsigned IdxW   = outer_pkg::IdxW,
  localparam int unsigned PosW   = outer_pkg::PosW,
  localparam int unsigned PtrW   = outer_pkg::PtrW,
  localparam int unsigned OutW   = outer_pkg::OutW
) (
  input  logic                        clk_i,                // clock
  input  logic                        rst_ni,               // asynchronous reset, active low
  input  outer_pkg::index_map_t       map_i,            // of the pair in work; stable while the PE is busy
  // Image non-zeros in CSR order, at least one at a time.
  input  logic                        image_valid_i,        // a vector is on offer
  output logic                        image_ready_o,        // it is taken
  input  outer_pkg::vector_t          image_i,              // the vector
  // The kernel in CSR form: row pointers, Window columns from any place on, and elements.
  output logic [IdxW-1:0]             pointer_first_row_o,  // first kernel row in range
  output logic [IdxW-1:0]             pointer_last_row_o,   // last kernel row in range
  input  logic [PtrW-1:0]             pointer_first_i,  // where pointer_first_row_o begins
  input  logic [PtrW-1:0]             pointer_end_i,    // where pointer_last_row_o ends
  output logic [PtrW-1:0]             window_place_o,       // where the search looks
  input  logic [Window*IdxW-1:0]      window_columns_i,     // columns of the elements from window_place_o on
  output logic [Lanes*PtrW-1:0]       kernel_place_o,       // places of the elements that were found
  input  outer_pkg::elements_t        kernel_i,             // the elements at kernel_place_o
  output logic                        search_o,         // a cycle of the search: it issues, or it is a bubble
  // To the accumulators; see outer_multiplier.
  input  logic                        out_ready_i,          // it is taken
  output logic                        out_valid_o,          // a result is on offer
  output logic [Lanes*Lanes*OutW-1:0] product_o,            // product of image element i and kernel element j at i*Lanes + j
  output logic [Lanes*Lanes*IdxW-1:0] output_y_o,           // row of the output that each product belongs to
  output logic [Lanes*Lanes*IdxW-1:0] output_x_o,           // its column
  output logic [Lanes*Lanes-1:0]      executed_o,           // pairs that exist
  output logic [Lanes*Lanes-1:0]      useful_o              // of those, pairs that belong to an output
);
  // The pipe moves as a whole; stages in front of the search wait while it has more to look at.
  logic enable, advance;
  logic out_valid_q;
  assign out_valid_o = out_valid_q;
  assign enable      = ~out_valid_q | out_ready_i;

  // Stage 1: the image vector.
  logic                 s1_valid_q;
  outer_pkg::vector_t   s1_image_q;
  // Stage 2: its ranges.
  logic                 s2_valid_q, s2_empty_q;
  logic [IdxW-1:0]      s2_r0_q, s2_r1_q, s2_s0_q, s2_s1_q;
  outer_pkg::vector_t   s2_image_q;
  // Stage 3: the search over the kernel's columns.
  logic                 s3_valid_q;
  logic [PtrW-1:0]      s3_place_q, s3_end_q;
  logic [IdxW-1:0]      s3_s0_q, s3_s1_q;
  outer_pkg::vector_t   s3_image_q;
  // Stage 4: places of the kernel elements.
  logic                 s4_valid_q;
  logic [Lanes-1:0]     s4_kernel_there_q;
  logic [Lanes*PtrW-1:0] s4_place_q;
  outer_pkg::vector_t   s4_image_q;
  // Stage 5: kernel values, which enter the multipliers of stage 6.
  logic                 mul_valid_q;
  outer_pkg::vector_t   mul_image_q, mul_kernel_q;

  // Rows are ascending in CSR order, columns are not.
  logic [IdxW-1:0] y0, y1, x0, x1;
  always_comb begin
    y0 = s1_image_q.at.y[0 +: IdxW];
    y1 = y0;
    x0 = s1_image_q.at.x[0 +: IdxW];
    x1 = x0;
    for (int unsigned i = 1; i < Lanes; i++) begin
      if (s1_image_q.there[i]) begin
        y1 = s1_image_q.at.y[i*IdxW +: IdxW];
        if (s1_image_q.at.x[i*IdxW +: IdxW] < x0) x0 = s1_image_q.at.x[i*IdxW +: IdxW];
        if (s1_image_q.at.x[i*IdxW +: IdxW] > x1) x1 = s1_image_q.at.x[i*IdxW +: IdxW];
      end
    end
  end
  logic [IdxW-1:0] r0, r1, s0, s1;
  logic            no_row, no_column;
  outer_axis_range u_rows (
    .first_i(y0), .last_i(y1), .image_step_i(map_i.y.image_step), .offset_i(map_i.y.offset),
    .offset_low_i(map_i.y.offset_low), .kernel_log2_i(map_i.y.kernel_log2), .kernel_last_i(map_i.y.kernel_last),
    .low_o(r0), .high_o(r1), .empty_o(no_row)
  );
  outer_axis_range u_columns (
    .first_i(x0), .last_i(x1), .image_step_i(map_i.x.image_step), .offset_i(map_i.x.offset),
    .offset_low_i(map_i.x.offset_low), .kernel_log2_i(map_i.x.kernel_log2), .kernel_last_i(map_i.x.kernel_last),
    .low_o(s0), .high_o(s1), .empty_o(no_column)
  );

  assign pointer_first_row_o = s2_r0_q;
  assign pointer_last_row_o  = s2_r1_q;

  // The search. An empty range takes its one cycle too.
  logic [PtrW-1:0]        left;
  logic [PtrW:0]          next_place;  // may pass 2^PtrW
  logic [PosW-1:0]        count, next;
  logic [Lanes*PosW-1:0]  position;
  logic [Lanes-1:0]       hits;
  logic                   finished, nothing;
  assign left       = s3_end_q - s3_place_q;
  assign nothing    = s3_place_q >= s3_end_q;
  assign count      = nothing ? '0 : (left > PtrW'(Window) ? PosW'(Window) : PosW'(left));
  assign next_place = (PtrW+1)'(s3_place_q) + (PtrW+1)'(next);
  assign finished   = nothing | (next_place >= {1'b0, s3_end_q});
  assign window_place_o = s3_place_q;
  ant_selector u_selector (
    .columns_i(window_columns_i), .count_i(count), .low_i(s3_s0_q), .high_i(s3_s1_q), .position_o(position),
    .valid_o(hits), .next_o(next)
  );

  // The vector in the search is done, or there is none: those behind it move up.
  assign advance       = enable & (~s3_valid_q | finished);
  assign image_ready_o = advance;
  assign search_o      = enable & s3_valid_q;
  assign kernel_place_o = s4_place_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s1_valid_q <= 1'b0;
      s2_valid_q <= 1'b0;
      s3_valid_q <= 1'b0;
    end else if (advance) begin
      s1_valid_q <= image_valid_i;
      s2_valid_q <= s1_valid_q;
      s3_valid_q <= s2_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance) begin
      s1_image_q <= image_i;
      s2_empty_q <= ~map_i.matrix & (no_row | no_column);
      s2_r0_q    <= map_i.matrix ? y0 : r0;
      s2_r1_q    <= map_i.matrix ? y1 : r1;
      s2_s0_q    <= map_i.matrix ? '0 : s0;
      s2_s1_q    <= map_i.matrix ? {IdxW{1'b1}} : s1;
      s2_image_q <= s1_image_q;
      s3_place_q <= s2_empty_q ? '0 : pointer_first_i;
      s3_end_q   <= s2_empty_q ? '0 : pointer_end_i;
      s3_s0_q    <= s2_s0_q;
      s3_s1_q    <= s2_s1_q;
      s3_image_q <= s2_image_q;
    end else if (enable) begin
      s3_place_q <= next_place[PtrW-1:0];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s4_valid_q  <= 1'b0;
      mul_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else if (enable) begin
      s4_valid_q  <= s3_valid_q & (|hits);
      mul_valid_q <= s4_valid_q;
      out_valid_q <= mul_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (enable) begin
      s4_kernel_there_q <= hits;
      for (int unsigned n = 0; n < Lanes; n++) begin
        s4_place_q[n*PtrW +: PtrW] <= s3_place_q + PtrW'(position[n*PosW +: PosW]);
      end
      s4_image_q   <= s3_image_q;
      mul_image_q  <= s4_image_q;
      mul_kernel_q <= {s4_kernel_there_q, kernel_i};
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
