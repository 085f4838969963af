// SPDX-License-Identifier: Apache-2.0
// Products to accumulator banks [SCNN §4: 16 x 32 crossbar]. Each bank takes the first product that is addressed to it and
// still waits. Combinational.
module outer_crossbar #(
  parameter int unsigned  Inputs = 16,
  parameter int unsigned  Banks  = 32,  // a power of two
  parameter int unsigned  AddrW  = 10,  // bits of an accumulator's address: the bank is the low part, the entry the rest
  parameter int unsigned  Width  = 32,
  localparam int unsigned BankW  = $clog2(Banks),
  localparam int unsigned EntryW = AddrW - BankW
) (
  input  logic [Inputs-1:0]       waiting_i,  // products that are to be added
  input  logic [Inputs*AddrW-1:0] address_i,  // accumulator of each product
  input  logic [Inputs*Width-1:0] product_i,  // the products
  output logic [Inputs-1:0]       granted_o,  // products that a bank takes this cycle
  output logic [Banks-1:0]        valid_o,    // the bank gets one
  output logic [Banks*EntryW-1:0] entry_o,    // place in the bank
  output logic [Banks*Width-1:0]  value_o     // the product
);
  logic [Banks*Inputs-1:0] grant;  // one input per bank at most
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    logic [Inputs-1:0] request;
    always_comb begin
      for (int unsigned i = 0; i < Inputs; i++) begin
        request[i] = waiting_i[i] & (address_i[i*AddrW +: BankW] == BankW'(b));
      end
      entry_o[b*EntryW +: EntryW] = '0;
      value_o[b*Width +: Width]   = '0;
      for (int unsigned i = 0; i < Inputs; i++) begin
        if (grant[b*Inputs + i]) begin
          entry_o[b*EntryW +: EntryW] = entry_o[b*EntryW +: EntryW] | address_i[i*AddrW + BankW +: EntryW];
          value_o[b*Width +: Width]   = value_o[b*Width +: Width] | product_i[i*Width +: Width];
        end
      end
    end
    // The lowest request.
    assign grant[b*Inputs +: Inputs] = request & (~request + 1'b1);
    assign valid_o[b]                = |request;
  end

  always_comb begin
    granted_o = '0;
    for (int unsigned b = 0; b < Banks; b++) granted_o = granted_o | grant[b*Inputs +: Inputs];
  end
`ifndef SYNTHESIS
  if (Inputs < 1 || Banks < 2 || (Banks & (Banks - 1)) != 0 || AddrW <= $clog2(Banks)) begin : gen_bad_parameters
    $error("outer_crossbar: Inputs must be at least 1, Banks a power of two, and AddrW have bits beyond the bank's");
  end
`endif
endmodule
