#include "reproduce/grade.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>

#include "reproduce/reproduction.hpp"

namespace lacuna::reproduce {

const char* verdict_name(Verdict verdict) {
  constexpr std::array kNames{"circular", "near", "far", "apart", "holds", "fails"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Verdict verdict_on(const PaperValue& paper, double ours) {
  if (!paper.circular.empty()) return Verdict::kCircular;
  if (!paper.value) return paper.holds(ours) ? Verdict::kHolds : Verdict::kFails;
  const double distance = std::abs(paper.difference(ours));
  return distance <= kNearDistance  ? Verdict::kNear
         : distance <= kFarDistance ? Verdict::kFar
                                    : Verdict::kApart;
}

bool needs_reason(const PaperValue& paper, double ours) {
  const Verdict verdict = verdict_on(paper, ours);
  return verdict == Verdict::kFar || verdict == Verdict::kApart || verdict == Verdict::kFails;
}

void Grade::add(Verdict verdict) {
  const std::array counts{&circular, &near, &far, &apart, &hold, &fail};
  ++*counts[static_cast<std::size_t>(verdict)];
}

std::string Grade::text() const {
  std::string text;
  if (numbers() > 0)
    text = fmt::format(
        "{} of our {} number{} {} within 5 % of the papers', {} within 20 % and {} further away. ", near,
        numbers(), numbers() == 1 ? "" : "s", near == 1 ? "is" : "are", far, apart);
  if (statements() > 0) text += fmt::format("{} of {} statements and bounds hold. ", hold, statements());
  if (circular > 0)
    text += fmt::format("{} number{} made from the papers' own {} not counted. ", circular,
                        circular == 1 ? "" : "s", circular == 1 ? "is" : "are");
  if (!text.empty()) text.pop_back();
  return text;
}

Grade grade_of(const Reproduction& reproduction) {
  Grade grade;
  for (const FigureOutput& output : reproduction.figures) {
    for_each_cell(output, [&](const FigureTable&, const Cell& cell) {
      if (!cell.paper.empty()) grade.add(verdict_on(output.paper.at(cell.paper), cell.ours));
    });
  }
  return grade;
}

}  // namespace lacuna::reproduce
