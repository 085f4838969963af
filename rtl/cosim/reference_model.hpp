// A co-simulation's view of a model: it begins a piece of work, follows the hardware cycle by cycle, and
// lists the differences.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lacuna::rtl {

// `Cycle` is what the hardware showed in one cycle.
template <typename Cycle>
class ReferenceModel {
 public:
  virtual ~ReferenceModel() = default;

  // Back to the state after reset.
  virtual void reset() = 0;
  // Compares one cycle of the hardware and follows it.
  virtual void step(const Cycle& cycle) = 0;

  // One line per difference; the first hundred are kept.
  const std::vector<std::string>& errors() const { return errors_; }

 protected:
  void fail(std::string message) {
    if (errors_.size() < 100) errors_.push_back(std::move(message));
  }
  std::vector<std::string> errors_;
};

}  // namespace lacuna::rtl
