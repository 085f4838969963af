// What every accelerator model is to the rest of the program, and how a model announces itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.hpp"
#include "sim/result.hpp"

namespace lacuna {

enum class Engine {
  kFast,        // bit masks only
  kFunctional,  // values move through the modelled hardware; results are compared with a reference
                // convolution
};

// What the functional engine needs beyond the layer itself.
struct SimOptions {
  Engine engine = Engine::kFast;
  std::uint64_t seed = 1;  // values drawn at the non-zeros of a trace that holds masks only
  double batch_scale = 1;  // how many times the layer's recorded samples make up the batch
};

// A configured machine. Contract:
// - simulate() is a pure function of its arguments and the parameters: no state, no I/O, safe to call from
// several
//   threads at once. It may call parallel_for.
// - Both engines give equal OpResults, to the last counter.
// - In the functional engine the values are computed by the modelled hardware and must equal the reference
//   convolution; a difference throws std::logic_error, since it is a defect of the model and not of the
//   input.
class Accelerator {
 public:
  virtual ~Accelerator() = default;

  virtual const Params& params() const = 0;
  virtual OpResult simulate(const Layer& layer, Operation op, const SimOptions& options) const = 0;
  // About how many steps the fast engine takes for the three operations of a layer, whatever its zeros: see
  // work_estimate.hpp. A model that says nothing is taken to look at every MAC.
  virtual double work(const LayerShape& shape) const { return 3.0 * static_cast<double>(shape.macs()); }
  // What it is built of, if its area and energy are modelled.
  virtual std::optional<Hardware> hardware() const { return std::nullopt; }
};

// A kind of machine: its parameters and how to build it. One folder of src/models registers one.
struct AcceleratorModel {
  std::string name;
  std::string summary;  // one line for `lacuna arch list`
  std::string paper;
  std::vector<ParamSpec> params;
  std::function<std::unique_ptr<Accelerator>(Params)>
      make;  // throws InputError for combinations that cannot be
};

class AcceleratorRegistry {
 public:
  static AcceleratorRegistry& instance();
  void add(AcceleratorModel model);
  const std::vector<AcceleratorModel>& models() const { return models_; }  // sorted by name
  const AcceleratorModel* find(std::string_view name) const;

 private:
  std::vector<AcceleratorModel> models_;
};

// `static const RegisterAccelerator kRegister{{.name = "dense", ...}};` in a model's .cpp is all it takes.
struct RegisterAccelerator {
  explicit RegisterAccelerator(AcceleratorModel model) {
    AcceleratorRegistry::instance().add(std::move(model));
  }
};

}  // namespace lacuna
