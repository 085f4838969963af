#include "cli/commands/bench_precision.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "kernels/bfloat16/bfloat16_conv.hpp"

namespace lacuna::cli {

void add_precision_option(CLI::App& bench, std::string& precision) {
  bench
      .add_option("--precision", precision,
                  "bfloat16: round the operands of products, where the CPU has AMX or AVX512-BF16 (--impl "
                  "auto: where that is expected to be faster), beside what auto gives in single precision")
      ->check(CLI::IsMember({"float32", "bfloat16"}).description(""))
      ->type_name("float32|bfloat16")
      ->capture_default_str();
}

void check_precision(const std::string& precision,
                     const std::vector<std::pair<bool, const char*>>& not_with) {
  if (precision == "float32") return;
  kernels::require_bfloat16("--precision bfloat16");
  for (const auto& [given, option] : not_with)
    if (given)
      throw InputError("--precision bfloat16", fmt::format("it does not go with {}", option),
                       fmt::format("leave out {}", option));
}

void use_precision(const std::string& precision, kernels::MeasureSpec& spec) {
  // Images stay in single precision, and what has groups.
  if (precision != "bfloat16" || spec.shape.c <= 3 || spec.shape.groups > 1) return;
  if (spec.options.impl != kernels::Impl::kAuto) spec.options.impl = kernels::Impl::kBfloat16;
  spec.options.allow_bfloat16 = spec.with_float32 = true;
}

}  // namespace lacuna::cli
