// The clock and the reset that every clocked module has.
#pragma once

namespace lacuna::rtl {

// One clock cycle; the inputs are set before it.
template <typename Top>
void tick(Top& top) {
  top.clk_i = 1;
  top.eval();
  top.clk_i = 0;
  top.eval();
}

// One cycle in reset. The caller has set the other inputs to values that ask for nothing.
template <typename Top>
void reset(Top& top) {
  top.rst_ni = 0;
  top.clk_i = 0;
  top.eval();
  tick(top);
  top.rst_ni = 1;
}

// The front end of a tile, with nothing on offer.
template <typename Top>
void reset_frontend(Top& top) {
  top.bypass_i = 0;
  top.stall_i = 0;
  top.offer_valid_i = 0;
  reset(top);
}

}  // namespace lacuna::rtl
