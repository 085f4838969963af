#include "kernels/conv_kernel.hpp"

#include <unistd.h>

#include "kernels/plan/plan_checks.hpp"

namespace lacuna::kernels {

const std::vector<const ConvImplementation*>& conv_implementations() {
#define LACUNA_ADDRESS(name) &(name),
  static const std::vector<const ConvImplementation*> all = {LACUNA_CONV_IMPLEMENTATIONS(LACUNA_ADDRESS)};
#undef LACUNA_ADDRESS
  return all;
}

const ConvImplementation* find_implementation(Impl impl) {
  for (const ConvImplementation* one : conv_implementations())
    if (one->impl() == impl) return one;
  return nullptr;
}

std::unique_ptr<ConvKernel> try_make(const ConvImplementation& implementation, const KernelConfig& config) {
  if (implementation.supports != nullptr && !implementation.supports(config)) return nullptr;
  try {
    return implementation.make(config);
  } catch (const ConvError&) {
    return nullptr;
  }
}

std::vector<ImplDescription> describe_impls() {
  std::vector<ImplDescription> all = {
      {Impl::kAuto, "skips zeros or multiplies densely, whichever is expected to be faster"},
      {Impl::kSparse, "the first of the kernels below that skips the zeros of the checked operand"}};
  for (const ConvImplementation* one : conv_implementations()) all.push_back({one->impl(), one->description});
  return all;
}

std::optional<Impl> impl_named(std::string_view name) {
  for (const ImplDescription& one : describe_impls())
    if (one.impl.name == name) return one.impl;
  return std::nullopt;
}

std::int64_t l1_data_bytes() {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  if (bytes >= 16 * 1024) return bytes;
#endif
  return 32 * 1024;
}

KernelConfig::KernelConfig(const LayerShape& s, const ConvOptions& o)
    : shape(s),
      options(o),
      checked(o.checked_operand()),
      isa(pick_isa(o.isa)),
      src(direct_shape(blocked_src(s), o.layout_of_src())),
      dst(direct_shape(blocked_dst(s), o.layout_of_dst())),
      l1_bytes(l1_data_bytes()) {}

}  // namespace lacuna::kernels
