// Prints the machines that lacuna::sim brings into a program that names none of them.
#include <cstdio>
#include <lacuna/sim/catalog/registry.hpp>

// A user's own folders may have these names.
#if __has_include(<base/error.hpp>) || __has_include(<sim/catalog/registry.hpp>)
#error "the installed headers are found without lacuna/ before their names"
#endif

int main() {
  for (const lacuna::AcceleratorModel& model : lacuna::AcceleratorRegistry::instance().models()) {
    std::printf("%s\n", model.name.c_str());
  }
}
