#include "kernels/plan/plan_checks.hpp"

#include <array>
#include <span>
#include <string>

#include "kernels/conv_kernel.hpp"
#include "kernels/plan/workspace.hpp"

namespace lacuna::kernels {
namespace {

using Code = ConvError::Code;

struct Named {
  const char* name;
  const float* data;
  TensorNeeds needs;
};

void check_pointer(const Named& tensor, Operation op) {
  if (tensor.data == nullptr)
    throw ConvError(Code::kNullPointer, std::string(tensor.name) + " is null",
                    "give all tensors of " + std::string(operation_name(op)));
  const std::size_t align = tensor.needs.vector_aligned ? kVectorBytes : alignof(float);
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % align != 0)
    throw ConvError(Code::kMisaligned,
                    std::string(tensor.name) + " is not aligned to " + std::to_string(align) + " bytes",
                    "align it or use a plain layout");
}

void check_overlap(const Named& result, const Named& input) {
  const auto begin = [](const Named& tensor) { return reinterpret_cast<std::uintptr_t>(tensor.data); };
  const auto end = [&](const Named& tensor) {
    return begin(tensor) + static_cast<std::uintptr_t>(tensor.needs.floats) * sizeof(float);
  };
  if (begin(input) < end(result) && begin(result) < end(input))
    throw ConvError(Code::kOverlap, std::string(result.name) + " overlaps " + input.name,
                    "give the result separate memory");
}

}  // namespace

void check_options(const LayerShape& shape, const ConvOptions& o) {
  shape.validate("convolution");
  if (o.threads < 1 || o.threads > 1024)
    throw ConvError(Code::kOption, "threads is " + std::to_string(o.threads), "give 1 to 1024");
  if ((o.bias || o.relu) && o.op != Operation::kForward)
    throw ConvError(Code::kOption, "bias and relu belong to forward",
                    "leave them out of the other operations");
  if (o.checked) {
    if (o.op == Operation::kForward && *o.checked == Operand::kG)
      throw ConvError(Code::kOption, "forward has no gradients to check", "check activations or weights");
    if (o.op == Operation::kWeightGrad && *o.checked == Operand::kW && o.weights == WeightLayout::kPacked)
      throw ConvError(Code::kOption, "gradients of the non-zero weights are not packed", "use oihw");
  }
  if (o.or_weights && o.op == Operation::kWeightGrad && o.weights == WeightLayout::kPacked)
    throw ConvError(Code::kOption, "gradients of the non-zero weights are not packed", "use oihw");
  if (o.or_needed && o.op != Operation::kInputGrad)
    throw ConvError(Code::kOption, "only input_grad has results that nobody needs", "leave out or_needed");
  const ConvImplementation* named = find_implementation(o.impl);
  if (named == nullptr && o.impl != Impl::kAuto && o.impl != Impl::kSparse)
    throw ConvError(Code::kOption, std::string("implementation ") + o.impl.name + " is unknown", "use auto");
  if (named != nullptr && named->skips == Skips::kChecked && (o.checked == Operand::kW || o.or_weights))
    throw ConvError(Code::kOption, std::string(named->name) + " does not skip zero weights",
                    "check another operand");
  const bool results = o.op == Operation::kInputGrad && o.checked == Operand::kA;
  if (named != nullptr && named->skips == Skips::kChecked && (results || o.or_needed))
    throw ConvError(Code::kOption, std::string(named->name) + " computes all results", "use sparse or auto");
  if (named != nullptr && named->skips == Skips::kResults && !results)
    throw ConvError(Code::kOption, std::string(named->name) + " computes the results that are needed",
                    "use input_grad and check activations");
  if (named != nullptr && named->skips == Skips::kWeights && o.checked != Operand::kW)
    throw ConvError(Code::kOption, std::string(named->name) + " skips zero weights", "check weights");
}

Isa pick_isa(const std::string& name) {
  if (name.empty()) return best_isa();
  const std::optional<Isa> isa = isa_named(name);
  if (!isa) throw ConvError(Code::kOption, "isa '" + name + "' is unknown", "use avx512, avx2 or portable");
  if (!isa_available(*isa))
    throw ConvError(Code::kOption, "this CPU has no " + name, "use portable or leave isa empty");
  return *isa;
}

void check_tensors(const ConvOptions& options, const PlanNeeds& needs, const ConvTensors& t) {
  std::array<Named, 4> tensors{};  // the result first
  std::size_t count = 3;
  switch (options.op) {
    case Operation::kForward:
      tensors = {
          {{"dst", t.dst, needs.dst}, {"src", t.src, needs.src}, {"weights", t.weights, needs.weights}, {}}};
      break;
    case Operation::kInputGrad:
      tensors = {{{"diff_src", t.diff_src, needs.src},
                  {"diff_dst", t.diff_dst, needs.dst},
                  {"weights", t.weights, needs.weights},
                  {}}};
      break;
    case Operation::kWeightGrad:
      tensors = {{{"diff_weights", t.diff_weights, needs.weights},
                  {"src", t.src, needs.src},
                  {"diff_dst", t.diff_dst, needs.dst},
                  {}}};
      break;
  }
  if (options.bias) tensors[count++] = {"bias", t.bias, needs.bias};
  if (options.takes_needed()) tensors[count++] = {"src", t.src, needs.src};
  const bool kept_only = options.checked == Operand::kW || options.or_weights;
  if (options.op == Operation::kWeightGrad && kept_only && t.weights != nullptr)
    tensors[count++] = {"weights", t.weights, needs.weights};
  const std::span<const Named> used(tensors.data(), count);
  for (const Named& tensor : used) check_pointer(tensor, options.op);
  for (const Named& input : used.subspan(1)) check_overlap(used.front(), input);
}

}  // namespace lacuna::kernels
