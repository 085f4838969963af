// In place of this folder's other files in a program that is built without oneDNN: its kernels can be named
// and say why they are not there.
#include "base/optional_libraries.hpp"
#include "kernels/onednn/onednn_conv.hpp"

namespace lacuna::kernels {
namespace {

std::unique_ptr<ConvKernel> make(const KernelConfig&) {
  const InputError missing = missing_library(kOneDnn, "convolution");
  throw ConvError(ConvError::Code::kOption, missing.cause(),
                  std::string(missing.remedy()) + ", or use sparse");
}

}  // namespace

std::unique_ptr<ConvKernel> make_onednn(OneDnnAlgorithm, const KernelConfig& config) { return make(config); }
std::size_t onednn_scratchpad_bytes(OneDnnAlgorithm, const LayerShape&, const ConvOptions&) { return 0; }

constexpr const char* kDescription = "oneDNN, which this program was built without";
const ConvImplementation kOneDnnDirect{.name = "direct", .description = kDescription, .make = make};
const ConvImplementation kOneDnnGemm{.name = "gemm", .description = kDescription, .make = make};
const ConvImplementation kOneDnnWinograd{.name = "winograd", .description = kDescription, .make = make};
const ConvImplementation kOneDnnAuto{.name = "onednn_auto", .description = kDescription, .make = make};

}  // namespace lacuna::kernels
