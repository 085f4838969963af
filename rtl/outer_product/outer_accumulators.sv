// SPDX-License-Identifier: Apache-2.0
// The accumulators behind an outer-product PE [SCNN §4]: output (y, x) lives in bank (y*width + x) mod Banks (the model's
// assumption O6). A vector of products leaves when the last of them has reached its bank, so it takes as many cycles as the
// busiest bank has useful products, at least one. The banks' memories lie outside and are read combinationally.
module outer_accumulators #(
  parameter int unsigned  Banks  = 32,  // a power of two
  parameter int unsigned  AddrW  = 10,  // log2 of the accumulators of all banks
  localparam int unsigned Inputs = outer_pkg::Lanes * outer_pkg::Lanes,
  localparam int unsigned IdxW   = outer_pkg::IdxW,
  localparam int unsigned Width  = outer_pkg::OutW,
  localparam int unsigned EntryW = AddrW - $clog2(Banks)
) (
  input  logic                    clk_i,       // clock
  input  logic                    rst_ni,      // asynchronous reset, active low
  input  logic [IdxW-1:0]         width_i,     // outputs per row; stable while the PE is busy
  // From the PE; see outer_multiplier.
  input  logic                    in_valid_i,  // an input is on offer
  output logic                    in_ready_o,  // it is taken
  input  logic [Inputs*Width-1:0] product_i,   // the products
  input  logic [Inputs*IdxW-1:0]  output_y_i,  // row of the output that each product belongs to
  input  logic [Inputs*IdxW-1:0]  output_x_i,  // column of the output
  input  logic [Inputs-1:0]       useful_i,    // products that belong to an output
  // The banks' memories: one sum per bank and cycle is read, and written where `write` is set.
  output logic [Banks-1:0]        write_o,     // banks that write
  output logic [Banks*EntryW-1:0] entry_o,     // the sum's place in its bank
  input  logic [Banks*Width-1:0]  sum_i,       // the sums at entry_o
  output logic [Banks*Width-1:0]  sum_o        // with the products added
);
  logic [Inputs*AddrW-1:0] address;
  always_comb begin
    for (int unsigned i = 0; i < Inputs; i++) begin
      address[i*AddrW +: AddrW] = AddrW'(output_y_i[i*IdxW +: IdxW]) * AddrW'(width_i) + AddrW'(output_x_i[i*IdxW +: IdxW]);
    end
  end

  // Products of the current vector that are done.
  logic [Inputs-1:0] gone_q, waiting, granted;
  assign waiting    = in_valid_i ? useful_i & ~gone_q : '0;
  assign in_ready_o = (waiting & ~granted) == '0;

  logic [Banks-1:0]        valid, valid_q;
  logic [Banks*EntryW-1:0] entry, entry_q;
  logic [Banks*Width-1:0]  value, value_q;
  outer_crossbar #(.Inputs(Inputs), .Banks(Banks), .AddrW(AddrW), .Width(Width)) u_crossbar (
    .waiting_i(waiting), .address_i(address), .product_i, .granted_o(granted), .valid_o(valid), .entry_o(entry),
    .value_o(value)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      gone_q  <= '0;
      valid_q <= '0;
    end else begin
      gone_q  <= in_ready_o ? '0 : gone_q | granted;
      valid_q <= valid;
    end
  end
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    always_ff @(posedge clk_i) begin
      if (valid[b]) begin
        entry_q[b*EntryW +: EntryW] <= entry[b*EntryW +: EntryW];
        value_q[b*Width +: Width]   <= value[b*Width +: Width];
      end
    end
    fp_add #(.ExpW(outer_pkg::ExpW), .Man(outer_pkg::ManOut)) u_add (
      .clk_i, .enable_i(1'b1), .a_i(sum_i[b*Width +: Width]), .b_i(value_q[b*Width +: Width]), .sum_o(sum_o[b*Width +: Width])
    );
  end
  assign write_o = valid_q;
  assign entry_o = entry_q;

`ifndef SYNTHESIS
  stream_check #(.Bits(Inputs * (Width + 2 * IdxW + 1))) u_in_check (
    .clk_i, .rst_ni, .valid_i(in_valid_i), .ready_i(in_ready_o), .payload_i({product_i, output_y_i, output_x_i, useful_i})
  );
  // A vector never leaves with a product that no bank has taken, and no product goes twice.
  EveryProductOnce : assert property (@(posedge clk_i) disable iff (!rst_ni)
      (gone_q & granted) == '0 && (!(in_valid_i && in_ready_o) || (useful_i & ~(gone_q | granted)) == '0));
`endif
endmodule
