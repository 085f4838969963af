// Ownership of a verilated module. A coverage build (VM_COVERAGE) writes its coverage to the folder
// LACUNA_RTL_COVERAGE when it is destroyed, one file per module.
#pragma once

#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <typeinfo>
#include <unistd.h>
#include <verilated.h>
#if VM_COVERAGE
#include <verilated_cov.h>
#endif

namespace lacuna::rtl {

template <typename Top>
struct TopDeleter {
  void operator()(Top* top) const {
#if VM_COVERAGE
    static std::atomic<int> count{0};
    if (const char* folder = std::getenv("LACUNA_RTL_COVERAGE")) {
      top->contextp()->coveragep()->write(
          fmt::format("{}/{}-{}-{}.dat", folder, typeid(Top).name(), getpid(), count++).c_str());
    }
#endif
    // Verilator takes a module's scopes from the context used last, which may be gone.
    Verilated::threadContextp(top->contextp());
    delete top;
  }
};

// Each has its own context, so threads and modules share no state.
template <typename Top>
class OwnedTop {
 public:
  OwnedTop() : context_(std::make_unique<VerilatedContext>()) {
    // Registers begin with random bits, others in every module: only a reset may give them values.
    static std::atomic<int> seed{1};
    context_->randReset(2);
    context_->randSeed(seed++);
    top_.reset(new Top(context_.get()));
  }
  Top* operator->() const { return top_.get(); }
  Top& operator*() const { return *top_; }

 private:
  std::unique_ptr<VerilatedContext> context_;  // outlives the module
  std::unique_ptr<Top, TopDeleter<Top>> top_;
};

}  // namespace lacuna::rtl
