// lacuna_trace_* and lacuna_builder_*: traces from files, memory and arrays.
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/untrusted_json.hpp"
#include "capi/handles.hpp"
#include "report/result/potential_report.hpp"
#include "trace/format/layer_list.hpp"
#include "trace/format/trace_info.hpp"
#include "trace/format/trace_writer.hpp"

namespace lacuna::capi {
namespace {

TraceTensor role_of(lacuna_role role) {
  constexpr std::array<TraceTensor, 4> kRoles{Operand::kA, Operand::kW, Operand::kG, kAForward};
  return choose(role, kRoles, "liblacuna", "operand");
}

const Layer& layer_at(const lacuna_trace& trace, size_t layer) {
  const std::vector<Layer>& layers = trace.trace.layers();
  if (layer >= layers.size())
    throw InputError(trace.trace.path(), fmt::format("there is no layer {}", layer),
                     fmt::format("it has {}", layers.size()));
  return layers[layer];
}

// A builder inside a layer.
TraceBuilder& in_layer(lacuna_builder* builder) {
  require(builder, "builder");
  if (!builder->has_layer) {
    throw InputError(builder->name, "an operand comes before any layer", "call lacuna_builder_layer() first");
  }
  return builder->builder;
}

// Values are text in a trace's metadata; a caller may give numbers and, for left_out, a list.
TextMap read_metadata(const char* text, const std::string& name) {
  const nlohmann::json object = parse_untrusted_json(text, name, "the metadata");
  if (!object.is_object())
    throw InputError(name, "the metadata is not a JSON object", "give {\"model\": ...}");
  TextMap values;
  for (const auto& [key, value] : object.items())
    if (!value.is_null()) values[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return values;
}

}  // namespace
}  // namespace lacuna::capi

using namespace lacuna;
using namespace lacuna::capi;

lacuna_status lacuna_trace_open(const char* path, lacuna_trace** trace) {
  return guarded([&] {
    require_all("path, trace", {path, trace});
    *trace = new lacuna_trace{Trace::open(path)};
  });
}

lacuna_status lacuna_trace_write(const lacuna_trace* trace, const char* path) {
  return guarded([&] {
    require_all("trace, path", {trace, path});
    write_trace(trace->trace, path);
  });
}

lacuna_status lacuna_trace_inspect_json(const lacuna_trace* trace, char** json) {
  return guarded([&] {
    require_all("trace, json", {trace, json});
    const Trace& of = trace->trace;
    *json = copy_text(inspections_to_json({{of.path(), of.info(), of.batch(), trace_potential(of)}}));
  });
}

size_t lacuna_trace_layer_count(const lacuna_trace* trace) {
  return trace == nullptr ? 0 : trace->trace.layers().size();
}

lacuna_status lacuna_trace_layer_zeros(const lacuna_trace* trace, size_t layer, double zeros[3]) {
  return guarded([&] {
    require_all("trace, zeros", {trace, zeros});
    const Layer& of = layer_at(*trace, layer);
    zeros[0] = of.a.zero_share();
    zeros[1] = of.w.zero_share();
    zeros[2] = of.g.zero_share();
  });
}

lacuna_status lacuna_trace_layer_forward_zeros(const lacuna_trace* trace, size_t layer, double* zeros) {
  return guarded([&] {
    require_all("trace, zeros", {trace, zeros});
    *zeros = layer_at(*trace, layer).as_multiplied(Operation::kForward).a.zero_share();
  });
}

void lacuna_trace_free(lacuna_trace* trace) { delete trace; }

lacuna_status lacuna_builder_new(const char* name, const char* metadata_json, lacuna_builder** builder) {
  return guarded([&] {
    require_all("name, metadata_json, builder", {name, metadata_json, builder});
    std::unique_ptr<lacuna_builder> made(new lacuna_builder{name, TraceBuilder(name)});
    made->builder.info() = read_trace_info(read_metadata(metadata_json, name), name);
    *builder = made.release();
  });
}

lacuna_status lacuna_builder_layer(lacuna_builder* builder, const char* layer_json) {
  return guarded([&] {
    require_all("builder, layer_json", {builder, layer_json});
    const auto entries = parse_layer_list(fmt::format("[{}]", layer_json), builder->name);
    if (entries.size() != 1) throw InputError(builder->name, "this is not one layer", "give one at a time");
    builder->builder.add_layer(entries[0].name, entries[0].shape, entries[0].steps)
        .operations(entries[0].operations);
    builder->has_layer = true;
  });
}

lacuna_status lacuna_builder_mask(lacuna_builder* builder, lacuna_role role, const uint8_t* bits,
                                  size_t bytes) {
  return guarded([&] {
    require(bits, "bits");
    in_layer(builder).packed_mask(role_of(role), {bits, bytes});
  });
}

lacuna_status lacuna_builder_values(lacuna_builder* builder, lacuna_role role, const float* values,
                                    size_t count) {
  return guarded([&] {
    require(values, "values");
    in_layer(builder).values(role_of(role), {values, count});
  });
}

lacuna_status lacuna_builder_finish(lacuna_builder* builder, lacuna_trace** trace) {
  return guarded([&] {
    require_all("builder, trace", {builder, trace});
    TraceBuilder whole = std::exchange(builder->builder, TraceBuilder(builder->name));
    builder->has_layer = false;
    *trace = new lacuna_trace{whole.build()};
  });
}

void lacuna_builder_free(lacuna_builder* builder) { delete builder; }

lacuna_status lacuna_trace_of_masks(const char* name, const char* metadata_json, const char* layers_json,
                                    const uint8_t* const* masks, const size_t* bytes, size_t count,
                                    lacuna_trace** trace) {
  return guarded([&] {
    require_all("name, metadata_json, layers_json, masks, bytes, trace",
                {name, metadata_json, layers_json, masks, bytes, trace});
    TraceBuilder builder(name);
    builder.info() = read_trace_info(read_metadata(metadata_json, name), name);
    const auto entries = parse_layer_list(layers_json, name);
    if (count != 3 * entries.size()) {
      throw InputError(name, fmt::format("{} layers have {} masks", entries.size(), count),
                       "give three for each, null for one without zeros");
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      builder.add_layer(entries[i].name, entries[i].shape, entries[i].steps)
          .operations(entries[i].operations);
      for (std::size_t j = 0; j < 3; ++j) {
        if (masks[3 * i + j] == nullptr) continue;
        builder.packed_mask(role_of(static_cast<lacuna_role>(j)), {masks[3 * i + j], bytes[3 * i + j]});
      }
    }
    *trace = new lacuna_trace{builder.build()};
  });
}
