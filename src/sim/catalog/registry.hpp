// Registration of models with the program.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/accelerator.hpp"

namespace lacuna {

// A kind of machine: its parameters and how to build it. One folder of src/models registers one.
struct AcceleratorModel {
  std::string name;
  std::string summary;  // one line for `lacuna arch list`
  std::string paper;
  std::vector<std::string> cites = {};  // keys of docs/papers.bib, for `lacuna cite`
  std::vector<ParamSpec> params;
  // Throws InputError for parameters that do not go together.
  std::function<std::unique_ptr<Accelerator>(Params)> make;
  bool is_default = false;  // what `lacuna simulate` runs if no machine is named
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

// The `make` of a machine that needs its parameters alone.
template <typename Machine>
std::unique_ptr<Accelerator> make_accelerator(Params params) {
  return std::make_unique<Machine>(std::move(params));
}

// `const RegisterAccelerator kRegister{{.name = "dense", ...}};` in a model's .cpp registers it.
struct RegisterAccelerator {
  explicit RegisterAccelerator(AcceleratorModel model) {
    AcceleratorRegistry::instance().add(std::move(model));
  }
};

}  // namespace lacuna
