#include "sim/catalog/arch_catalog.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_arch_configs();  // cmake/LacunaEmbed.cmake

namespace {

// Puts the file in front of a message that does not name it.
InputError located(const std::string& origin, const InputError& error) {
  return {fmt::format("{}: {}", origin, error.where()), error.cause(), error.remedy()};
}

Machine from_model(const AcceleratorModel& model) {
  return {model.name, &model, Params(model.name, model.params), model.summary, ""};
}

bool is_file_name(std::string_view name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

// Files that start from one another; more are a mistake.
constexpr std::size_t kDeepestBase = 16;

}  // namespace

std::unique_ptr<Accelerator> Machine::build() const {
  try {
    return model->make(params);
  } catch (const InputError& error) {
    if (origin.empty()) throw;
    throw located(origin, error);
  }
}

ArchCatalog::ArchCatalog() : ArchCatalog(AcceleratorRegistry::instance(), embedded_arch_configs()) {}

ArchCatalog::ArchCatalog(const AcceleratorRegistry& registry, std::span<const EmbeddedFile> configs)
    : registry_(registry), configs_(configs) {}

std::vector<std::string> ArchCatalog::model_names() const {
  std::vector<std::string> names;
  for (const AcceleratorModel& model : registry_.models()) names.push_back(model.name);
  return names;
}

std::vector<std::string> ArchCatalog::config_names() const { return stems(configs_); }

std::vector<std::string> ArchCatalog::names() const {
  std::vector<std::string> all = model_names();
  std::ranges::move(config_names(), std::back_inserter(all));
  return all;
}

std::string ArchCatalog::default_name() const {
  const auto& models = registry_.models();
  const auto at = std::ranges::find_if(models, &AcceleratorModel::is_default);
  return at != models.end() ? at->name : models.empty() ? std::string() : models.front().name;
}

std::vector<Hardware> ArchCatalog::all_hardware() const {
  std::vector<Hardware> all;
  for (const std::string& name : names()) {
    if (const auto hardware = find(name, "arch list").build()->hardware()) all.push_back(*hardware);
  }
  return all;
}

Machine ArchCatalog::find(std::string_view name, std::string_view origin) const {
  if (const AcceleratorModel* model = registry_.find(name)) {
    return from_model(*model);
  }
  for (const EmbeddedFile& file : configs_) {
    if (file.stem() != name) continue;
    // A model of the same name is found first, so a configuration can only extend a model and never itself.
    const std::string path(file.name);
    const ArchConfig config = ArchConfig::parse(file.bytes, path);
    const AcceleratorModel* model = registry_.find(config.base);
    if (model == nullptr) {
      throw InputError(config.base_origin, fmt::format("unknown model {}", quote_name(config.base)),
                       suggest(config.base, model_names()));
    }
    Machine machine = configure(from_model(*model), config, path);
    machine.name = name;
    return machine;
  }
  throw InputError(origin, fmt::format("unknown machine {}", quote_name(name)),
                   is_file_name(name) ? "a file is given with --config FILE" : suggest(name, names()));
}

Machine ArchCatalog::load(const std::filesystem::path& file) const {
  std::vector<std::filesystem::path> derived;
  return load_base(file, derived);
}

Machine ArchCatalog::load_base(const std::filesystem::path& file,
                               std::vector<std::filesystem::path>& derived) const {
  const auto source = ByteSource::open(file);
  const ArchConfig config = ArchConfig::parse(source->text(), file.string());
  if (!is_file_name(config.base))
    return configure(find(config.base, config.base_origin), config, file.string());
  const std::filesystem::path base = file.parent_path() / config.base;
  derived.push_back(std::filesystem::weakly_canonical(file));
  if (std::ranges::find(derived, std::filesystem::weakly_canonical(base)) != derived.end())
    throw InputError(config.base_origin,
                     fmt::format("{} starts from this file itself", quote_name(config.base)),
                     "name a machine, or another file");
  if (derived.size() > kDeepestBase)
    throw InputError(config.base_origin,
                     fmt::format("more than {} files start from one another", kDeepestBase),
                     "put their parameters into fewer files");
  return configure(load_base(base, derived), config, file.string());
}

Machine ArchCatalog::find_or_load(const std::string& name_or_file, std::string_view origin) const {
  std::error_code ignored;
  const std::vector<std::string> all = names();
  const bool named = std::ranges::find(all, name_or_file) != all.end();
  return !named && std::filesystem::exists(name_or_file, ignored) ? load(name_or_file)
                                                                  : find(name_or_file, origin);
}

Machine ArchCatalog::parse(std::string_view yaml, const std::string& file) const {
  const ArchConfig config = ArchConfig::parse(yaml, file);
  if (is_file_name(config.base))
    throw InputError(config.base_origin,
                     fmt::format("{} is a file, which only a file can start from", quote_name(config.base)),
                     "name a machine, or give this configuration as a file too");
  return configure(find(config.base, config.base_origin), config, file);
}

Machine ArchCatalog::configure(Machine base, const ArchConfig& config, const std::string& file) {
  base.origin = file;
  if (!config.name.empty()) base.name = config.name;
  if (!config.summary.empty()) base.summary = config.summary;
  for (const ArchSetting& setting : config.settings)
    base.params.set(setting.key, setting.value, setting.origin);
  return base;
}

void apply_setting(std::vector<Machine>& machines, std::string_view assignment, std::string_view origin) {
  const auto [target, value] = split_assignment(assignment, origin);
  const std::size_t dot = target.rfind('.');
  const std::string key = dot == std::string::npos ? target : target.substr(dot + 1);
  if (dot != std::string::npos) {
    const std::string name = target.substr(0, dot);
    const auto at = std::ranges::find(machines, name, &Machine::name);
    if (at == machines.end()) {
      std::vector<std::string> names;
      names.reserve(machines.size());
      for (const Machine& machine : machines) names.push_back(machine.name);
      throw InputError(origin, fmt::format("{} is not one of the machines given", quote_name(name)),
                       suggest(name, names));
    }
    at->params.set(key, value, origin);
    return;
  }
  bool found = false;
  std::vector<std::string> keys;
  for (Machine& machine : machines) {
    if (machine.params.has(key)) {
      machine.params.set(key, value, origin);
      found = true;
    }
    for (const ParamSpec& spec : machine.params.specs()) {
      if (std::ranges::find(keys, spec.name) == keys.end()) keys.push_back(spec.name);
    }
  }
  if (!found) {
    throw InputError(origin, fmt::format("unknown key {}", quote_name(key)), suggest(key, keys));
  }
}

}  // namespace lacuna
