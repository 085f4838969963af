// SPDX-License-Identifier: Apache-2.0
// Sizes and types of the tile that runs a layer (td_layer): geometry of a layer, and what its units are told about a product.
//
// Tensors lie in memory in groups of Lanes x Lanes values [TensorDash §3.4]; an address names a block, which is Lanes
// consecutive channels at one position. Weights are a tensor of one image whose rows are the taps and whose columns are the
// filters; the rows of a linear layer are the columns of one image of height 1. So one address function serves all.
package td_layer_pkg;
  parameter int unsigned DimW  = 16;  // bits of a size or count
  parameter int unsigned AddrW = 20;  // bits of a block's address
  parameter int unsigned TapW  = 5;   // bits of kernel sizes, padding, dilation
  parameter int unsigned StepW = 16;  // bits of the number of steps of a stream

  // The operations of training, as in layer_t.op.
  parameter logic [1:0] Forward    = 2'd0;  // A*W
  parameter logic [1:0] InputGrad  = 2'd1;  // W*G
  parameter logic [1:0] WeightGrad = 2'd2;  // A*G

  // When zeros are skipped, as in layer_t.bypass.
  parameter logic [1:0] BypassAuto   = 2'd0;  // unless the zero counter of BM says that it does not pay [TensorDash §3.5]
  parameter logic [1:0] BypassNever  = 2'd1;  // always skipped
  parameter logic [1:0] BypassAlways = 2'd2;  // never skipped

  // A layer and what is to be done with it: the control registers.
  typedef struct packed {
    logic [1:0]       op;
    logic             primary_rows;  // BM holds the operation's primary operand: A forward, G in the gradients
    logic [1:0]       bypass;
    logic [DimW-1:0]  images;
    logic [DimW-1:0]  in_channels;
    logic [DimW-1:0]  out_channels;
    logic [DimW-1:0]  in_h;
    logic [DimW-1:0]  in_w;
    logic [DimW-1:0]  out_h;
    logic [DimW-1:0]  out_w;
    logic [TapW-1:0]  kernel_h;
    logic [TapW-1:0]  kernel_w;
    logic [1:0]       stride_h;      // log2
    logic [1:0]       stride_w;      // log2
    logic [TapW-1:0]  pad_h;
    logic [TapW-1:0]  pad_w;
    logic [TapW-1:0]  dilation_h;
    logic [TapW-1:0]  dilation_w;
    logic [AddrW-1:0] am_base;       // of the column operand in AM, in groups
    logic [AddrW-1:0] bm_base;       // of the row operand in BM
    logic [AddrW-1:0] cm_base;       // of the result in CM
    logic [DimW-1:0]  row_block;     // groups of streams that half of a row's scratchpads takes in
    logic [DimW-1:0]  column_block;  // likewise, of the columns
  } layer_t;

  // One axis of the taps of a product: tap t of `count` is at kernel position first + t*step and, seen from a stream's place, at
  // position offset + t*hop.
  typedef struct packed {
    logic [TapW-1:0]        count;
    logic [TapW-1:0]        first;
    logic [TapW-1:0]        step;
    logic signed [DimW-1:0] offset;
    logic signed [DimW-1:0] hop;
  } taps_t;

  // One operand of a product. Streams and steps are counted by three digits, the last fastest.
  typedef struct packed {
    logic             transposed;  // lanes run across blocks, so these come through a transposer
    logic             weights;     // the operand is W
    logic [DimW-1:0]  streams2;    // streams: images, rows and columns of the grid; or taps (y, x) and channels; or filters
    logic [DimW-1:0]  streams1;
    logic [DimW-1:0]  streams0;
    logic [DimW-1:0]  rows;        // of the tensor's plane
    logic [DimW-1:0]  columns;
    logic [DimW-1:0]  channels;
    logic [1:0]       stride_h;    // log2, of grid places
    logic [1:0]       stride_w;
    taps_t            taps_h;
    taps_t            taps_w;
    logic [AddrW-1:0] base;
  } operand_t;

  // A product of an operation: all of it, or one phase of a strided input gradient.
  typedef struct packed {
    operand_t         row;           // in BM, scheduled
    operand_t         column;        // in AM
    logic             primary_rows;  // the streams that are places of the result are on the rows
    logic             empty;         // no tap: the result is zero
    logic [DimW-1:0]  images;        // of the positions that lanes run over in a weight gradient
    logic [DimW-1:0]  grid_h;
    logic [DimW-1:0]  grid_w;
    logic [TapW-1:0]  kernel_w;
    logic [StepW-1:0] steps;         // of a stream
    logic [StepW-1:0] lines;         // rows of a scratchpad that it takes: steps / Depth, rounded up
    logic [DimW-1:0]  row_block;
    logic [DimW-1:0]  column_block;
    // The result's tensor, and where its places lie: place (y, x) of the grid at phase + (place << stride).
    logic [DimW-1:0]  result_rows;
    logic [DimW-1:0]  result_columns;
    logic [DimW-1:0]  result_channels;
    logic [DimW-1:0]  phase_h;
    logic [DimW-1:0]  phase_w;
    logic [1:0]       result_stride_h;  // log2
    logic [1:0]       result_stride_w;
    logic [AddrW-1:0] result_base;
  } product_t;

  // A stream, by its three digits; also a place: image, row, column.
  typedef struct packed {
    logic [DimW-1:0] d2;
    logic [DimW-1:0] d1;
    logic [DimW-1:0] d0;
  } digits_t;
endpackage
