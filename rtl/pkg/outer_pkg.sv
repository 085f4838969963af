// SPDX-License-Identifier: Apache-2.0
// Sizes and types of the outer-product PEs (ANT and the SCNN-like baseline).
package outer_pkg;
  parameter int unsigned Lanes  = 4;         // n: elements of a vector
  parameter int unsigned Window = 16;        // k: kernel columns that ANT looks at per cycle
  parameter int unsigned IdxW   = 9;         // bits of a position
  parameter int unsigned CalW   = IdxW + 5;  // signed arithmetic on positions
  parameter int unsigned PosW   = $clog2(Window + 1);
  parameter int unsigned PtrW   = 16;        // bits of a place in the kernel's buffers
  parameter int unsigned ExpW   = 8;
  parameter int unsigned ManIn  = 7;         // 7: bfloat16, 23: FP32
  parameter int unsigned ManOut = 23;
  parameter int unsigned Width  = ExpW + ManIn + 1;
  parameter int unsigned OutW   = ExpW + ManOut + 1;

  // The index map on one axis. Image position t and kernel position r meet at u = e*t + P - d*r, and u/st is the output; the
  // model's AxisMap says the same. d and st are powers of two.
  typedef struct packed {
    logic [2:0]             image_step;   // e: 1..7
    logic signed [CalW-1:0] offset;       // P
    logic signed [CalW-1:0] offset_low;   // P - st*(outputs - 1)
    logic [1:0]             kernel_log2;  // log2 of d
    logic [IdxW-1:0]        kernel_last;  // kernel positions - 1
    logic [1:0]             output_log2;  // log2 of st
    logic [IdxW-1:0]        output_last;  // outputs - 1
  } axis_t;

  // `matrix`: a product is useful if both rows are equal, and belongs to output (image column, kernel column).
  typedef struct packed {
    logic  matrix;
    axis_t y;
    axis_t x;
  } index_map_t;

  // Elements in CSR order; element n of width W is [n*W +: W].
  typedef struct packed {
    logic [Lanes*Width-1:0] value;
    logic [Lanes*IdxW-1:0]  y;
    logic [Lanes*IdxW-1:0]  x;
  } elements_t;

  typedef struct packed {
    logic [Lanes-1:0] there;  // a prefix: elements that exist
    elements_t        at;
  } vector_t;
endpackage
