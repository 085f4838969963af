// The traces of a plan: files, patterns and synthetic networks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/io/yaml/yaml_reader.hpp"
#include "sweep/plan/plan.hpp"

namespace lacuna::sweep {

class PlanTraces {
 public:
  PlanTraces(const YamlReader& yaml, bool read_files) : yaml_(yaml), read_files_(read_files) {}

  // Each synthetic trace once per seed. Throws InputError.
  std::vector<PlanTrace> read(const YAML::Node& at, const YAML::Node& list,
                              const std::vector<std::uint64_t>& seeds);

 private:
  void add_files(const YAML::Node& at, const std::string& pattern);
  void add_synthetic(const YAML::Node& at, const YAML::Node& map, const std::vector<std::uint64_t>& seeds);
  void add(const YAML::Node& at, PlanTrace trace);

  const YamlReader& yaml_;
  bool read_files_;
  std::vector<PlanTrace> traces_;
};

}  // namespace lacuna::sweep
