// SPDX-License-Identifier: Apache-2.0
// The address of a block in the layout of TensorDash [§3.4]: groups of Lanes blocks that follow one another by channel, then by
// column, then by row, then by image. Three stages, one multiplication each.
module td_block_address #(
  localparam int unsigned DimW  = td_layer_pkg::DimW,
  localparam int unsigned AddrW = td_layer_pkg::AddrW
) (
  input  logic             clk_i,       // clock
  input  logic [DimW-1:0]  rows_i,      // of the tensor
  input  logic [DimW-1:0]  columns_i,   // of the tensor
  input  logic [DimW-1:0]  channels_i,  // of the tensor
  input  logic [AddrW-1:0] base_i,      // of its first group, in groups
  input  logic [DimW-1:0]  image_i,     // place of the block
  input  logic [DimW-1:0]  row_i,       // place of the block
  input  logic [DimW-1:0]  column_i,    // place of the block
  input  logic [DimW-1:0]  block_i,     // place of the block: channels in blocks
  output logic [AddrW-1:0] address_o    // three cycles later
);
  localparam int unsigned Lanes  = td_conn_pkg::Lanes;
  localparam int unsigned SideW  = $clog2(Lanes);
  localparam int unsigned Round  = Lanes - 1;

  logic [DimW-1:0]  column_groups, channel_groups;
  assign column_groups  = (columns_i + DimW'(Round)) >> SideW;
  assign channel_groups = (channels_i + DimW'(Round)) >> SideW;

  logic [AddrW-1:0] line_q, group_q, address_q;
  logic [DimW-1:0]  column_q, block_q, block_qq;
  logic [SideW-1:0] within_qq;
  always_ff @(posedge clk_i) begin
    line_q    <= AddrW'(image_i) * AddrW'(rows_i) + AddrW'(row_i);
    column_q  <= column_i;
    block_q   <= block_i;
    group_q   <= line_q * AddrW'(column_groups) + AddrW'(column_q[DimW-1:SideW]);
    within_qq <= column_q[SideW-1:0];
    block_qq  <= block_q;
    address_q <= ((group_q * AddrW'(channel_groups) + AddrW'(block_qq) + base_i) << SideW) | AddrW'(within_qq);
  end
  assign address_o = address_q;
endmodule
