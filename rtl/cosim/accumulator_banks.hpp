// The verilated accumulators with the memories of their banks, behind a verilated outer-product PE.
#pragma once

#include <bit>
#include <vector>

#include "Vouter_accumulators.h"
#include "bits.hpp"
#include "clocking.hpp"
#include "top.hpp"

namespace lacuna::rtl {

class AccumulatorBanks {
 public:
  static constexpr std::size_t kInputs = 16, kBanks = 32, kAddress = 16, kEntry = kAddress - 5, kIdx = 9;

  AccumulatorBanks() : memory_(std::size_t{1} << kAddress, 0.0F) {
    top_->in_valid_i = 0;
    reset(*top_);
  }

  void start(std::size_t width) {
    top_->width_i = static_cast<std::uint16_t>(width);
    memory_.assign(memory_.size(), 0.0F);
  }

  // Shows the PE's vector; returns whether it goes in this cycle.
  template <typename Pe>
  bool offer(const Pe& pe) {
    top_->in_valid_i = pe.out_valid_o;
    for (std::size_t i = 0; i < kInputs; ++i) {
      set_bits(top_->product_i, i * 32, 32, get_bits(pe.product_o, i * 32, 32));
      set_bits(top_->output_y_i, i * kIdx, kIdx, get_bits(pe.output_y_o, i * kIdx, kIdx));
      set_bits(top_->output_x_i, i * kIdx, kIdx, get_bits(pe.output_x_o, i * kIdx, kIdx));
    }
    top_->useful_i = pe.useful_o;
    top_->eval();
    return top_->in_ready_o != 0;
  }

  void clock() {
    for (std::size_t bank = 0; bank < kBanks; ++bank)
      set_bits(top_->sum_i, bank * 32, 32, std::bit_cast<std::uint32_t>(memory_[place(bank)]));
    top_->eval();
    for (std::size_t bank = 0; bank < kBanks; ++bank) {
      if (get_bits(top_->write_o, bank, 1) != 0)
        memory_[place(bank)] =
            std::bit_cast<float>(static_cast<std::uint32_t>(get_bits(top_->sum_o, bank * 32, 32)));
    }
    tick(*top_);
  }

  std::vector<float> sums(std::size_t count) const {
    return {memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(count)};
  }

 private:
  std::size_t place(std::size_t bank) {
    return get_bits(top_->entry_o, bank * kEntry, kEntry) * kBanks + bank;
  }

  OwnedTop<Vouter_accumulators> top_;
  std::vector<float> memory_;  // by address: entry * kBanks + bank
};

}  // namespace lacuna::rtl
