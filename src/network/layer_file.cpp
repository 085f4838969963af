#include "network/layer_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/embedded_file.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"

namespace lacuna::network {

std::span<const EmbeddedFile> embedded_layer_lists();  // cmake/LacunaEmbed.cmake

std::vector<std::string> layer_list_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_layer_lists()) names.emplace_back(file.stem());
  std::ranges::sort(names);
  return names;
}

LayerList read_layers(const std::string& name_or_file, const ZeroTexts& zeros) {
  for (const EmbeddedFile& file : embedded_layer_lists())
    if (file.stem() == name_or_file) return parse_yaml_layers(file.bytes, std::string(file.name), zeros);
  const std::string kind = std::filesystem::path(name_or_file).extension().string();
  const bool yaml = kind == ".yaml" || kind == ".yml";
  if (!yaml && kind != ".csv" && kind != ".onnx")
    throw InputError("--layers " + quote_name(name_or_file), "there is no such list of layers",
                     suggest(name_or_file, layer_list_names()) + "; or give a .yaml, .csv or .onnx file");
  const auto source = ByteSource::open(name_or_file);
  const std::span<const std::uint8_t> bytes = source->bytes();
  if (kind == ".onnx") return parse_onnx_layers(bytes, name_or_file, zeros);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return yaml ? parse_yaml_layers(text, name_or_file, zeros) : parse_csv_layers(text, name_or_file, zeros);
}

}  // namespace lacuna::network
