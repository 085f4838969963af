// Grades our numbers by their distance from the papers', and says which of them count.
#pragma once

#include <string>

#include "reproduce/paper_values.hpp"

namespace lacuna::reproduce {

struct Reproduction;

// Distances from a paper's number. Beyond the first a difference needs a reason.
inline constexpr double kNearDistance = 0.05, kFarDistance = 0.20;

enum class Verdict {
  kCircular,  // ours was made from the paper's number: not counted
  kNear,      // within 5 %
  kFar,       // within 20 %
  kApart,     // beyond that
  kHolds,     // a statement or a bound
  kFails,
};
const char* verdict_name(Verdict verdict);
Verdict verdict_on(const PaperValue& paper, double ours);
// Returns whether a difference has to be explained.
bool needs_reason(const PaperValue& paper, double ours);

// All comparisons of a reproduction.
struct Grade {
  int near = 0, far = 0, apart = 0;  // numbers
  int hold = 0, fail = 0;            // statements
  int circular = 0;
  int drawn = 0, drawn_near = 0;  // of the numbers, and of the near ones: FigureTable::drawn

  void add(Verdict verdict, bool is_drawn);
  int numbers() const { return near + far + apart; }
  int statements() const { return hold + fail; }
  // Exit code of `--against-paper`: 0 if all numbers are near and all statements hold, 3 if no number is
  // apart and all statements hold, else 4.
  int exit_code() const { return apart + fail > 0 ? 4 : far > 0 ? 3 : 0; }
  std::string exit_text() const;  // says why
  // "Of 48 numbers, 21 are within 5 % of the papers', ..."
  std::string text() const;
};
Grade grade_of(const Reproduction& reproduction);

}  // namespace lacuna::reproduce
