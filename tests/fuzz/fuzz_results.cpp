// Any text as a JSON result. What is accepted can be written, read and compared again without a change.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "report/compare/comparison.hpp"
#include "report/result/result_csv.hpp"
#include "report/result/result_json.hpp"
#include "report/result/result_tables.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  ResultFile file;
  try {
    file = parse_results_json({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  } catch (const InputError&) {
    return 0;
  }
  const std::string written = results_to_json({file.runs});
  const ResultFile again = parse_results_json(written, "again.json");
  if (results_to_json({again.runs}) != written) std::abort();
  if (results_to_csv({again.runs}) != results_to_csv({file.runs})) std::abort();
  (void)result_tables(file.runs, true, {});
  const Comparison comparison = compare_results(file, again, 0);
  for (const RunComparison& run : comparison.runs) {
    if (run.a->trace == run.b->trace && run.a->arch == run.b->arch && run.differs()) std::abort();
  }
  const ComparedFiles files{"a", "b", file.lacuna, again.lacuna, 0};
  (void)comparison_text(comparison, files, 0, {});
  (void)comparison_json(comparison, files);
  return 0;
}
