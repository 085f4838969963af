// The host of a verilated td_layer: writes and reads its registers over AXI4-Lite, loads AM and BM, reads CM.
// Every handshake waits at random.
#pragma once

#include <bit>
#include <stdexcept>
#include <vector>

#include "base/random.hpp"
#include "bits.hpp"
#include "clocking.hpp"
#include "run_layer_reference.hpp"
#include "top.hpp"

namespace lacuna::rtl {

// Addresses of the registers.
struct LayerRegister {
  static constexpr unsigned kId = 0x00, kControl = 0x04, kStatus = 0x08, kOperation = 0x0c, kThreshold = 0x44,
                            kLoad = 0x48, kReadAddress = 0x4c, kReadCount = 0x50, kTile = 0x58,
                            kCycles = 0x60, kIssued = 0x64, kWaitOperands = 0x68, kWaitResults = 0x6c,
                            kAmZeros = 0x70, kAmValues = 0x74, kBmZeros = 0x78, kBmValues = 0x7c,
                            kCmZeros = 0x80, kCmValues = 0x84;
  static constexpr std::uint32_t kBusy = 1, kDone = 2, kError = 4, kBypassed = 8;
};

template <typename Top>
class LayerTileDriver {
 public:
  static constexpr int kLanes = 16;

  // `width`: bits of an operand, 32 or 16. `waits`: chance that a handshake waits another cycle.
  LayerTileDriver(int width, std::uint64_t seed, double waits) : width_(width), waits_(waits), random_(seed) {
    reset();
  }

  void reset() {
    top_->awvalid_i = top_->wvalid_i = top_->bready_i = top_->arvalid_i = top_->rready_i = 0;
    top_->load_valid_i = top_->read_ready_i = 0;
    rtl::reset(*top_);
  }

  // Returns the response: true is OKAY.
  bool write(unsigned address, std::uint32_t data, unsigned strobe = 0xf) {
    top_->awaddr_i = static_cast<std::uint16_t>(address);
    top_->wdata_i = data;
    top_->wstrb_i = static_cast<std::uint8_t>(strobe);
    bool address_done = false, data_done = false;
    for (int n = 0; !address_done || !data_done; ++n) {
      limit(n);
      top_->awvalid_i = !address_done && (top_->awvalid_i != 0 || !random_.chance(waits_));
      top_->wvalid_i = !data_done && (top_->wvalid_i != 0 || !random_.chance(waits_));
      top_->eval();
      const bool takes_address = top_->awvalid_i != 0 && top_->awready_o != 0;
      const bool takes_data = top_->wvalid_i != 0 && top_->wready_o != 0;
      tick(*top_);
      address_done = address_done || takes_address;
      data_done = data_done || takes_data;
    }
    top_->awvalid_i = top_->wvalid_i = 0;
    for (int n = 0;; ++n) {
      limit(n);
      top_->bready_i = !random_.chance(waits_);
      top_->eval();
      const bool done = top_->bvalid_o != 0 && top_->bready_i != 0;
      const bool okay = top_->bresp_o == 0;
      tick(*top_);
      top_->bready_i = 0;
      if (done) return okay;
    }
  }

  std::uint32_t read(unsigned address) {
    top_->araddr_i = static_cast<std::uint16_t>(address);
    top_->arvalid_i = 1;
    for (int n = 0;; ++n) {
      limit(n);
      top_->eval();
      const bool taken = top_->arready_o != 0;
      tick(*top_);
      if (taken) break;
    }
    top_->arvalid_i = 0;
    for (int n = 0;; ++n) {
      limit(n);
      top_->rready_i = !random_.chance(waits_);
      top_->eval();
      const bool done = top_->rvalid_o != 0 && top_->rready_i != 0;
      const std::uint32_t data = top_->rdata_o;
      tick(*top_);
      top_->rready_i = 0;
      if (done) return data;
    }
  }

  void load(bool bm, const MemoryImage& image, std::uint32_t first_block = 0) {
    write(LayerRegister::kLoad, (bm ? 0x80000000U : 0U) | first_block);
    for (std::size_t block = 0; block < image.keep.size();) {
      limit(0);
      if (top_->load_valid_i == 0 && random_.chance(waits_)) {
        tick(*top_);
        continue;
      }
      top_->load_valid_i = 1;
      top_->load_keep_i = image.keep[block];
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        // Lanes without an element carry garbage, which must not matter.
        const bool kept = ((image.keep[block] >> lane) & 1) != 0;
        const std::uint32_t bits = kept ? std::bit_cast<std::uint32_t>(image.values[block * kLanes + lane])
                                        : static_cast<std::uint32_t>(block * 0x9e3779b9U + lane);
        set_bits(top_->load_block_i, lane * static_cast<std::size_t>(width_),
                 static_cast<std::size_t>(width_), width_ == 16 ? bits >> 16 : bits);
      }
      top_->eval();
      const bool taken = top_->load_ready_o != 0;
      tick(*top_);
      if (!taken) continue;
      top_->load_valid_i = 0;
      ++block;
    }
  }

  void configure(const std::vector<std::uint32_t>& registers) {
    for (std::size_t i = 0; i < registers.size(); ++i)
      write(LayerRegister::kOperation + 4 * static_cast<unsigned>(i), registers[i]);
  }
  void start() { write(LayerRegister::kControl, 1); }
  // Until the interrupt; false if it does not come in time.
  bool wait(std::int64_t most_cycles) {
    for (std::int64_t n = 0; n < most_cycles; ++n) {
      if (top_->done_o != 0) return true;
      tick(*top_);
    }
    return false;
  }

  std::vector<std::uint32_t> read_result(std::size_t blocks, std::uint32_t first_block = 0) {
    write(LayerRegister::kReadAddress, first_block);
    write(LayerRegister::kReadCount, static_cast<std::uint32_t>(blocks));
    std::vector<std::uint32_t> values;
    for (int n = 0; values.size() < blocks * kLanes; ++n) {
      limit(n - static_cast<int>(values.size()));
      top_->read_ready_i = !random_.chance(waits_);
      top_->eval();
      if (top_->read_valid_o != 0 && top_->read_ready_i != 0) {
        for (std::size_t lane = 0; lane < kLanes; ++lane)
          values.push_back(static_cast<std::uint32_t>(get_bits(top_->read_block_o, lane * 32, 32)));
        if ((top_->read_last_o != 0) != (values.size() == blocks * kLanes))
          throw std::runtime_error("the last block is not marked as it should");
      }
      tick(*top_);
    }
    top_->read_ready_i = 0;
    return values;
  }

  Top& top() { return *top_; }

 private:
  // Throws if a handshake has waited for 10,000 cycles.
  static void limit(int cycles) {
    if (cycles > 10000) throw std::runtime_error("a handshake hangs");
  }

  int width_;
  double waits_;
  Random random_;
  OwnedTop<Top> top_;
};

}  // namespace lacuna::rtl
