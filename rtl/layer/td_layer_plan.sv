// SPDX-License-Identifier: Apache-2.0
// Turns a layer and an operation into products [TensorDash §2.1, Table 1], one after another: one, or for the input gradient of a
// strided layer one per phase. Each is planned in three cycles, then runs until its result is written.
module td_layer_plan #(
  parameter int unsigned  RowLines    = 64,  // rows of half a scratchpad of the row operand
  parameter int unsigned  ColumnLines = 64,  // likewise of the column operand
  localparam int unsigned DimW        = td_layer_pkg::DimW,
  localparam int unsigned TapW        = td_layer_pkg::TapW,
  localparam int unsigned StepW       = td_layer_pkg::StepW
) (
  input  logic                   clk_i,       // clock
  input  logic                   rst_ni,      // asynchronous reset, active low
  input  logic                   start_i,     // begin; ignored while busy
  input  td_layer_pkg::layer_t   layer_i,     // holds until done
  output td_layer_pkg::product_t product_o,   // the product in work
  output logic                   go_o,        // it begins
  input  logic                   finished_i,  // its result is written
  output logic                   busy_o,      // an operation is in work
  output logic                   error_o      // the last one was given up: a block of streams does not fit half a scratchpad
);
  localparam int unsigned Lanes = td_conn_pkg::Lanes;
  localparam int unsigned Depth = td_conn_pkg::Depth;
  localparam int unsigned SideW = $clog2(Lanes);
  localparam int unsigned WideW = 2 * DimW;

  typedef enum logic [2:0] {Idle, Shape, Count, Check, Go, Run} state_t;
  state_t state_q;

  logic [2:0]             phase_h_q, phase_w_q;
  logic                   last_phase_h, last_phase_w, is_input_grad, is_weight_grad, error_q;
  td_layer_pkg::product_t product_q, product_d;
  td_layer_pkg::operand_t primary, secondary;
  td_layer_pkg::taps_t    window_h, window_w, phase_taps_h, phase_taps_w;
  logic [DimW-1:0]        taps;
  logic [WideW-1:0]       inner_q, outer_q;  // steps of a stream: outer x inner

  assign is_input_grad  = layer_i.op == td_layer_pkg::InputGrad;
  assign is_weight_grad = layer_i.op == td_layer_pkg::WeightGrad;

  td_phase_taps u_taps_h (
    .phase_i(phase_h_q), .stride_i(layer_i.stride_h), .kernel_i(layer_i.kernel_h), .pad_i(layer_i.pad_h),
    .dilation_i(layer_i.dilation_h), .taps_o(phase_taps_h)
  );
  td_phase_taps u_taps_w (
    .phase_i(phase_w_q), .stride_i(layer_i.stride_w), .kernel_i(layer_i.kernel_w), .pad_i(layer_i.pad_w),
    .dilation_i(layer_i.dilation_w), .taps_o(phase_taps_w)
  );

  always_comb begin
    window_h        = '0;
    window_h.count  = layer_i.kernel_h;
    window_h.step   = TapW'(1);
    window_h.offset = '0 - DimW'(layer_i.pad_h);
    window_h.hop    = DimW'(layer_i.dilation_h);
    window_w        = '0;
    window_w.count  = layer_i.kernel_w;
    window_w.step   = TapW'(1);
    window_w.offset = '0 - DimW'(layer_i.pad_w);
    window_w.hop    = DimW'(layer_i.dilation_w);
    taps = DimW'(layer_i.kernel_h) * DimW'(layer_i.kernel_w);

    product_d              = '0;
    product_d.primary_rows = layer_i.primary_rows;
    product_d.images       = layer_i.images;
    product_d.grid_h       = layer_i.out_h;
    product_d.grid_w       = layer_i.out_w;
    product_d.kernel_w     = layer_i.kernel_w;
    product_d.row_block    = layer_i.row_block;
    product_d.column_block = layer_i.column_block;
    product_d.result_base  = layer_i.cm_base;

    // W, as forward and input gradient have it on one side.
    secondary            = '0;
    secondary.weights    = 1'b1;
    secondary.transposed = is_input_grad;
    secondary.streams2   = DimW'(1);
    secondary.streams1   = DimW'(1);
    secondary.streams0   = is_input_grad ? layer_i.in_channels : layer_i.out_channels;
    secondary.rows       = taps;
    secondary.columns    = layer_i.out_channels;
    secondary.channels   = layer_i.in_channels;
    secondary.taps_h     = is_input_grad ? phase_taps_h : window_h;
    secondary.taps_w     = is_input_grad ? phase_taps_w : window_w;

    primary = '0;
    if (is_weight_grad) begin
      // G: a stream per filter, whose lanes run over positions; A: one per tap and channel.
      primary.transposed   = 1'b1;
      primary.streams2     = DimW'(1);
      primary.streams1     = DimW'(1);
      primary.streams0     = layer_i.out_channels;
      primary.rows         = layer_i.out_h;
      primary.columns      = layer_i.out_w;
      primary.channels     = layer_i.out_channels;
      primary.taps_h.count = TapW'(1);
      primary.taps_w.count = TapW'(1);
      secondary            = '0;
      secondary.transposed = 1'b1;
      secondary.streams2   = DimW'(layer_i.kernel_h);
      secondary.streams1   = DimW'(layer_i.kernel_w);
      secondary.streams0   = layer_i.in_channels;
      secondary.rows       = layer_i.in_h;
      secondary.columns    = layer_i.in_w;
      secondary.channels   = layer_i.in_channels;
      secondary.stride_h   = layer_i.stride_h;
      secondary.stride_w   = layer_i.stride_w;
      secondary.taps_h     = window_h;
      secondary.taps_w     = window_w;
      product_d.result_rows     = taps;
      product_d.result_columns  = layer_i.out_channels;
      product_d.result_channels = layer_i.in_channels;
    end else if (is_input_grad) begin
      // G, at the input positions of a phase.
      primary.streams2 = layer_i.images;
      primary.streams1 = (layer_i.in_h - DimW'(phase_h_q) + (DimW'(1) << layer_i.stride_h) - 1'b1) >> layer_i.stride_h;
      primary.streams0 = (layer_i.in_w - DimW'(phase_w_q) + (DimW'(1) << layer_i.stride_w) - 1'b1) >> layer_i.stride_w;
      primary.rows     = layer_i.out_h;
      primary.columns  = layer_i.out_w;
      primary.channels = layer_i.out_channels;
      primary.taps_h   = phase_taps_h;
      primary.taps_w   = phase_taps_w;
      product_d.result_rows     = layer_i.in_h;
      product_d.result_columns  = layer_i.in_w;
      product_d.result_channels = layer_i.in_channels;
      product_d.phase_h         = DimW'(phase_h_q);
      product_d.phase_w         = DimW'(phase_w_q);
      product_d.result_stride_h = layer_i.stride_h;
      product_d.result_stride_w = layer_i.stride_w;
      product_d.empty           = phase_taps_h.count == '0 || phase_taps_w.count == '0;
    end else begin
      // A, in windows around the output positions.
      primary.streams2 = layer_i.images;
      primary.streams1 = layer_i.out_h;
      primary.streams0 = layer_i.out_w;
      primary.rows     = layer_i.in_h;
      primary.columns  = layer_i.in_w;
      primary.channels = layer_i.in_channels;
      primary.stride_h = layer_i.stride_h;
      primary.stride_w = layer_i.stride_w;
      primary.taps_h   = window_h;
      primary.taps_w   = window_w;
      product_d.result_rows     = layer_i.out_h;
      product_d.result_columns  = layer_i.out_w;
      product_d.result_channels = layer_i.out_channels;
    end
    product_d.row         = layer_i.primary_rows ? primary : secondary;
    product_d.column      = layer_i.primary_rows ? secondary : primary;
    product_d.row.base    = layer_i.bm_base;
    product_d.column.base = layer_i.am_base;
  end

  // Phases that have positions.
  assign last_phase_h = !is_input_grad || (4'(phase_h_q) + 4'd1 == 4'd1 << layer_i.stride_h)
                        || DimW'(phase_h_q) + 1'b1 == layer_i.in_h;
  assign last_phase_w = !is_input_grad || (4'(phase_w_q) + 4'd1 == 4'd1 << layer_i.stride_w)
                        || DimW'(phase_w_q) + 1'b1 == layer_i.in_w;

  logic [WideW-1:0] steps, row_space, column_space;
  logic [DimW-1:0]  lane_axis;  // elements that lanes run over
  logic             fits;
  assign lane_axis    = is_weight_grad ? '0 : is_input_grad ? layer_i.out_channels : layer_i.in_channels;
  assign steps        = outer_q * inner_q;
  assign row_space    = WideW'(layer_i.row_block) * WideW'(product_q.lines);
  assign column_space = WideW'(layer_i.column_block) * WideW'(product_q.lines);
  assign fits         = row_space <= WideW'(RowLines) && column_space <= WideW'(ColumnLines) && layer_i.row_block != '0
                        && layer_i.column_block != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= Idle;
      phase_h_q <= '0;
      phase_w_q <= '0;
      error_q   <= 1'b0;
    end else begin
      unique case (state_q)
        Idle: if (start_i) begin
          state_q   <= Shape;
          phase_h_q <= '0;
          phase_w_q <= '0;
          error_q   <= 1'b0;
        end
        Shape: state_q <= Count;
        Count: state_q <= Check;
        Check: state_q <= Go;
        Go: begin
          state_q <= fits ? Run : Idle;
          error_q <= ~fits;
        end
        Run: if (finished_i) begin
          phase_w_q <= last_phase_w ? '0 : phase_w_q + 1'b1;
          phase_h_q <= last_phase_w ? phase_h_q + 1'b1 : phase_h_q;
          state_q   <= last_phase_w && last_phase_h ? Idle : Shape;
        end
        default: state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Shape) begin
      product_q <= product_d;
      outer_q   <= is_weight_grad ? WideW'(layer_i.images)
                                  : WideW'(product_d.row.taps_h.count) * WideW'(product_d.row.taps_w.count);
      inner_q   <= is_weight_grad ? (WideW'(layer_i.out_h) * WideW'(layer_i.out_w) + WideW'(Lanes - 1)) >> SideW
                                  : (WideW'(lane_axis) + WideW'(Lanes - 1)) >> SideW;
    end
    if (state_q == Count) product_q.steps <= StepW'(steps);
    if (state_q == Check) product_q.lines <= (product_q.steps + StepW'(Depth - 1)) / StepW'(Depth);
  end

  assign product_o = product_q;
  assign go_o      = state_q == Go && fits;
  assign busy_o    = state_q != Idle;
  assign error_o   = error_q;

  logic unused;
  assign unused = ^{layer_i.bypass, steps};
`ifndef SYNTHESIS
  if ((Lanes & (Lanes - 1)) != 0 || Lanes < 2) $error("td_layer_plan: Lanes must be a power of two");
  StepsFit : assert property (@(posedge clk_i) disable iff (!rst_ni) state_q != Count || steps < (1 << StepW));
`endif
endmodule
