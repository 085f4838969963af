// SPDX-License-Identifier: Apache-2.0
// A transposer [TensorDash §3.4]: takes Size blocks of Size values and gives them back transposed. One buffer serves both: a
// group goes in along the rows while the group before, which went in along the columns, leaves along the rows, and so on in
// turns. A block moves per cycle, in and out together once the buffer is full. A line that has left makes room for one of
// the next group. A group may end early: its missing blocks are zeros, and Size blocks leave all the same.
module td_transposer #(
  parameter int unsigned Size  = 16,
  parameter int unsigned Width = 32
) (
  input  logic                  clk_i,        // clock
  input  logic                  rst_ni,       // asynchronous reset, active low
  input  logic                  in_valid_i,   // an input is on offer
  output logic                  in_ready_o,   // it is taken
  input  logic [Size*Width-1:0] in_block_i,   // block b of a group, value v at v*Width
  input  logic                  in_last_i,    // the group ends with this block; the Size-th ends it anyway
  output logic                  out_valid_o,  // a result is on offer
  input  logic                  out_ready_i,  // it is taken
  output logic [Size*Width-1:0] out_block_o   // value v of block b is value b of the group's block v
);
  localparam int unsigned CountW = Size > 1 ? $clog2(Size) : 1;

  logic [Size*Size*Width-1:0] buffer_q;   // cell (y, x) at (y*Size + x)*Width
  logic [CountW-1:0]          in_q;       // the line that enters next
  logic [CountW-1:0]          out_q;      // the line that leaves next
  logic [CountW-1:0]          end_q;      // the last line of the group that leaves that holds a block
  logic                       columns_q;  // lines are columns in this turn
  logic                       full_q;     // a group is leaving
  logic                       leave, enter, leaves_last, enters_last, ends;

  assign out_valid_o = full_q;
  assign leave       = full_q & out_ready_i;
  assign leaves_last = leave & (out_q == CountW'(Size - 1));
  // A group is complete only once the group before has left.
  assign ends        = in_last_i | (in_q == CountW'(Size - 1));
  assign in_ready_o  = ~full_q | leaves_last | (~ends & ((in_q < out_q) | (leave & (in_q == out_q))));
  assign enter       = in_valid_i & in_ready_o;
  assign enters_last = enter & ends;

  always_comb begin
    out_block_o = '0;
    for (int unsigned v = 0; v < Size; v++) begin
      for (int unsigned line = 0; line < Size; line++) begin
        if (out_q == CountW'(line) && CountW'(v) <= end_q) begin
          out_block_o[v*Width +: Width] = columns_q ? buffer_q[(v*Size + line)*Width +: Width]
                                                    : buffer_q[(line*Size + v)*Width +: Width];
        end
      end
    end
  end

  for (genvar y = 0; y < Size; y++) begin : gen_y
    for (genvar x = 0; x < Size; x++) begin : gen_x
      always_ff @(posedge clk_i) begin
        if (enter && (columns_q ? in_q == CountW'(x) : in_q == CountW'(y))) begin
          buffer_q[(y*Size + x)*Width +: Width] <= columns_q ? in_block_i[y*Width +: Width] : in_block_i[x*Width +: Width];
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q      <= '0;
      out_q     <= '0;
      end_q     <= '0;
      columns_q <= 1'b0;
      full_q    <= 1'b0;
    end else begin
      if (enter) in_q <= enters_last ? '0 : in_q + 1'b1;
      if (leave) out_q <= leaves_last ? '0 : out_q + 1'b1;
      // A full buffer is read across the direction in which it was written.
      if (enters_last) columns_q <= ~columns_q;
      if (enters_last) end_q <= in_q;
      if (enters_last) full_q <= 1'b1;
      else if (leaves_last) full_q <= 1'b0;
    end
  end
`ifndef SYNTHESIS
  if (Size < 1 || Width < 1) $error("td_transposer: Size and Width must be at least 1");
  stream_check #(.Bits(Size * Width + 1)) u_in_check (
    .clk_i, .rst_ni, .valid_i(in_valid_i), .ready_i(in_ready_o), .payload_i({in_block_i, in_last_i})
  );
  // A full buffer gives Size blocks; what enters meanwhile goes only where lines have left.
  LinesLeaveFirst : assert property (@(posedge clk_i) disable iff (!rst_ni) !full_q || in_q <= out_q);
  stream_check #(.Bits(Size * Width)) u_out_check (
    .clk_i, .rst_ni, .valid_i(out_valid_o), .ready_i(out_ready_i), .payload_i(out_block_o)
  );
`endif
endmodule
