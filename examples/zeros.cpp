// Reads a trace and prints the share of zeros of each layer's input activations (A), weights (W) and
// gradients of the outputs (G).
#include <cstdio>
#include <lacuna/base/error.hpp>
#include <lacuna/trace/trace.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: zeros TRACE\n");
    return 2;
  }
  const lacuna::Trace trace = lacuna::Trace::open(argv[1]);
  std::printf("%-14s %6s %6s %6s\n", trace.info().model.c_str(), "A", "W", "G");
  for (const lacuna::Layer& layer : trace.layers()) {
    std::printf("%-14s %4.0f %% %4.0f %% %4.0f %%\n", layer.name.c_str(), 100 * layer.a.zero_share(),
                100 * layer.w.zero_share(), 100 * layer.g.zero_share());
  }
} catch (const lacuna::InputError& error) {  // the file cannot be used: where, what is wrong, what to do
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
