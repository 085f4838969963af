// Names -> configured machines: the models that are linked in, the named configurations that are built in
// (configs/arch/*.yaml), and configurations from files.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/embedded_file.hpp"
#include "sim/catalog/arch_config.hpp"
#include "sim/catalog/registry.hpp"

namespace lacuna {

// A machine that is chosen and configured but not yet built.
struct Machine {
  std::string name;  // what results call it
  const AcceleratorModel* model = nullptr;
  Params params;
  std::string summary;
  std::string origin;  // the file the configuration came from; empty for a model as it is

  // Throws InputError for parameters that do not go together.
  std::unique_ptr<Accelerator> build() const;
};

class ArchCatalog {
 public:
  // The models and configurations built into this program.
  ArchCatalog();
  // `configs`: files called NAME.yaml. They are read on first use.
  ArchCatalog(const AcceleratorRegistry& registry, std::span<const EmbeddedFile> configs);

  std::vector<std::string> model_names() const;
  std::vector<std::string> config_names() const;
  std::vector<std::string> names() const;  // models, then configurations; each sorted
  // The model to use if none is named: the one registered as the default, else the first.
  std::string default_name() const;
  // The hardware of every model and configuration that declares it: the names that cost tables may use.
  std::vector<Hardware> all_hardware() const;

  // A model with its defaults, or a named configuration. Throws InputError with the nearest name; `origin`
  // ("--arch") starts the message.
  Machine find(std::string_view name, std::string_view origin) const;
  // A configuration from a YAML file, or from its text. A file may start from another one ('base: mine.yaml',
  // in its folder), a text from names alone. Throws InputError with file, line, key and what is allowed.
  Machine load(const std::filesystem::path& file) const;
  // Returns the machine of that name, or else reads the file of that path.
  Machine find_or_load(const std::string& name_or_file, std::string_view origin) const;
  Machine parse(std::string_view yaml, const std::string& file) const;

 private:
  // `derived` are the files that start from this one, the nearest last.
  Machine load_base(const std::filesystem::path& file, std::vector<std::filesystem::path>& derived) const;
  // Returns `base` with the settings of a file.
  static Machine configure(Machine base, const ArchConfig& config, const std::string& file);

  const AcceleratorRegistry& registry_;
  std::span<const EmbeddedFile> configs_;
};

// Applies a `--set` value to the machines: "key=value" to every machine that has the key, "NAME.key=value" to
// the one called NAME. Throws InputError if none has it.
void apply_setting(std::vector<Machine>& machines, std::string_view assignment, std::string_view origin);

}  // namespace lacuna
