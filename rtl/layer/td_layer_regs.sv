// SPDX-License-Identifier: Apache-2.0
// The control registers of td_layer, behind an AXI4-Lite port: whole words only. The map is in rtl/README.md. Writes while an
// operation runs, to registers that are not there or of parts of a word are answered with SLVERR and change nothing.
module td_layer_regs #(
  parameter int unsigned  Rows    = 4,
  parameter int unsigned  Columns = 4,
  parameter int unsigned  RSpaceW = 7,    // log2 of the rows of the row operand's scratchpads
  parameter int unsigned  CSpaceW = 7,    // likewise of the column operand's
  localparam int unsigned AddrW   = td_layer_pkg::AddrW
) (
  input  logic                 clk_i,           // clock
  input  logic                 rst_ni,          // asynchronous reset, active low
  // AXI4-Lite.
  input  logic                 awvalid_i,       // write address
  output logic                 awready_o,       // it is taken
  input  logic [11:0]          awaddr_i,        // in bytes
  input  logic                 wvalid_i,        // write data
  output logic                 wready_o,        // it is taken
  input  logic [31:0]          wdata_i,         // the word
  input  logic [3:0]           wstrb_i,         // its bytes: all
  output logic                 bvalid_o,        // the write is done
  input  logic                 bready_i,        // seen
  output logic [1:0]           bresp_o,         // OKAY or SLVERR
  input  logic                 arvalid_i,       // read address
  output logic                 arready_o,       // it is taken
  input  logic [11:0]          araddr_i,        // in bytes
  output logic                 rvalid_o,        // read data
  input  logic                 rready_i,        // taken
  output logic [31:0]          rdata_o,         // the word
  output logic [1:0]           rresp_o,         // OKAY
  // The layer.
  output td_layer_pkg::layer_t layer_o,         // what to do
  output logic [15:0]          threshold_o,     // of the zero counters, in 1/65536
  output logic                 start_o,         // begin
  output logic                 load_o,          // values for a memory follow
  output logic                 load_bm_o,       // for BM; else for AM
  output logic [AddrW-1:0]     load_address_o,  // the first block
  output logic                 read_o,          // blocks of CM are wanted
  output logic [AddrW-1:0]     read_address_o,  // the first
  output logic [AddrW-1:0]     read_count_o,    // their number
  input  logic                 busy_i,          // an operation runs
  output logic                 done_o,          // the last one has ended
  input  logic                 error_i,         // the last one was given up
  input  logic                 bypassed_i,      // it skips no zeros
  input  logic [10*32-1:0]     counters_i       // CYCLES and the registers after it
);
  // Words.
  localparam int unsigned Id = 0, Control = 1, Status = 2, Operation = 3, Images = 4, InChannels = 5, OutChannels = 6, InSize = 7,
                          OutSize = 8, Kernel = 9, Stride = 10, Padding = 11, Dilation = 12, AmBase = 13, BmBase = 14,
                          CmBase = 15, Blocks = 16, Threshold = 17, Load = 18, ReadAddress = 19, ReadCount = 20, Tile = 22,
                          Scratchpads = 23, Counters = 24;
  localparam logic [1:0] Okay = 2'b00, SlvErr = 2'b10;

  logic [31:0] words_q [Operation:ReadAddress];
  logic        aw_q, w_q;  // an address, data wait for each other
  logic [11:0] awaddr_q;
  logic [31:0] wdata_q;
  logic [3:0]  wstrb_q;
  logic        write, accept, done_q, ran_q;
  logic [9:0]  to;
  assign to        = awaddr_q[11:2];
  assign write     = aw_q & w_q & ~bvalid_o;
  assign accept    = wstrb_q == '1 && awaddr_q[1:0] == '0 && !busy_i
                     && (to == 10'(Control) || (to >= 10'(Operation) && to <= 10'(ReadCount)));
  assign awready_o = ~aw_q;
  assign wready_o  = ~w_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_q     <= 1'b0;
      w_q      <= 1'b0;
      bvalid_o <= 1'b0;
      bresp_o  <= Okay;
      done_q   <= 1'b0;
      ran_q    <= 1'b0;
    end else begin
      aw_q     <= write ? 1'b0 : aw_q | awvalid_i;
      w_q      <= write ? 1'b0 : w_q | wvalid_i;
      bvalid_o <= write | (bvalid_o & ~bready_i);
      if (write) bresp_o <= accept ? Okay : SlvErr;
      ran_q    <= busy_i;
      done_q   <= start_o ? 1'b0 : done_q | (ran_q & ~busy_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready_o) awaddr_q <= awaddr_i;
    if (wvalid_i && wready_o) begin
      wdata_q <= wdata_i;
      wstrb_q <= wstrb_i;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = Operation; i <= ReadAddress; i++) words_q[i] <= '0;
    end else begin
      for (int unsigned i = Operation; i <= ReadAddress; i++) begin
        if (write && accept && to == 10'(i)) words_q[i] <= wdata_q;
      end
    end
  end

  // Commands.
  assign start_o        = write & accept & (to == 10'(Control)) & wdata_q[0];
  assign load_o         = write & accept & (to == 10'(Load));
  assign load_bm_o      = wdata_q[31];
  assign load_address_o = wdata_q[AddrW-1:0];
  assign read_o         = write & accept & (to == 10'(ReadCount));
  assign read_address_o = words_q[ReadAddress][AddrW-1:0];
  assign read_count_o   = wdata_q[AddrW-1:0];

  always_comb begin
    layer_o.op           = words_q[Operation][1:0];
    layer_o.primary_rows = words_q[Operation][2];
    layer_o.bypass       = words_q[Operation][5:4];
    layer_o.images       = words_q[Images][15:0];
    layer_o.in_channels  = words_q[InChannels][15:0];
    layer_o.out_channels = words_q[OutChannels][15:0];
    {layer_o.in_h, layer_o.in_w}             = words_q[InSize];
    {layer_o.out_h, layer_o.out_w}           = words_q[OutSize];
    {layer_o.kernel_h, layer_o.kernel_w}     = {words_q[Kernel][20:16], words_q[Kernel][4:0]};
    {layer_o.stride_h, layer_o.stride_w}     = {words_q[Stride][17:16], words_q[Stride][1:0]};
    {layer_o.pad_h, layer_o.pad_w}           = {words_q[Padding][20:16], words_q[Padding][4:0]};
    {layer_o.dilation_h, layer_o.dilation_w} = {words_q[Dilation][20:16], words_q[Dilation][4:0]};
    layer_o.am_base      = words_q[AmBase][AddrW-1:0];
    layer_o.bm_base      = words_q[BmBase][AddrW-1:0];
    layer_o.cm_base      = words_q[CmBase][AddrW-1:0];
    {layer_o.row_block, layer_o.column_block} = words_q[Blocks];
  end
  assign threshold_o = words_q[Threshold][15:0];

  logic [31:0] word;
  logic [9:0]  from;
  assign from = araddr_i[11:2];
  always_comb begin
    word = '0;
    if (from == 10'(Id)) word = 32'h5444_4c31;  // "TDL1"
    if (from == 10'(Status)) word = {28'b0, bypassed_i, error_i, done_q, busy_i};
    if (from == 10'(Tile)) word = {8'(Rows), 8'(Columns), 8'(td_conn_pkg::Lanes), 8'(td_conn_pkg::Depth)};
    if (from == 10'(Scratchpads)) word = {16'(RSpaceW), 16'(CSpaceW)};
    for (int unsigned i = Operation; i <= ReadAddress; i++) begin
      if (from == 10'(i)) word = words_q[i];
    end
    for (int unsigned i = 0; i < 10; i++) begin
      if (from == 10'(Counters + i)) word = counters_i[i*32 +: 32];
    end
  end
  assign arready_o = ~rvalid_o;
  assign rresp_o   = Okay;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rvalid_o <= 1'b0;
    else rvalid_o <= (arvalid_i & arready_o) | (rvalid_o & ~rready_i);
  end
  always_ff @(posedge clk_i) begin
    if (arvalid_i && arready_o) rdata_o <= word;
  end

  assign done_o = done_q;

  logic unused;
  assign unused = ^araddr_i[1:0];
`ifndef SYNTHESIS
  if (AddrW > 31) $error("td_layer_regs: an address must fit the register LOAD");
  stream_check #(.Bits(12)) u_aw_check (
    .clk_i, .rst_ni, .valid_i(awvalid_i), .ready_i(awready_o), .payload_i(awaddr_i)
  );
  stream_check #(.Bits(36)) u_w_check (
    .clk_i, .rst_ni, .valid_i(wvalid_i), .ready_i(wready_o), .payload_i({wdata_i, wstrb_i})
  );
  stream_check #(.Bits(2)) u_b_check (
    .clk_i, .rst_ni, .valid_i(bvalid_o), .ready_i(bready_i), .payload_i(bresp_o)
  );
  stream_check #(.Bits(12)) u_ar_check (
    .clk_i, .rst_ni, .valid_i(arvalid_i), .ready_i(arready_o), .payload_i(araddr_i)
  );
  stream_check #(.Bits(32)) u_r_check (
    .clk_i, .rst_ni, .valid_i(rvalid_o), .ready_i(rready_i), .payload_i(rdata_o)
  );
`endif
endmodule
