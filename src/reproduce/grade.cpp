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

void Grade::add(Verdict verdict, bool is_drawn) {
  const std::array counts{&circular, &near, &far, &apart, &hold, &fail};
  const int numbers_before = numbers(), near_before = near;
  ++*counts[static_cast<std::size_t>(verdict)];
  if (!is_drawn) return;
  drawn += numbers() - numbers_before;
  drawn_near += near - near_before;
}

namespace {

// "1 number is", "32 numbers are"
std::string numbers_are(int numbers) {
  return fmt::format("{} number{}", numbers, numbers == 1 ? " is" : "s are");
}

}  // namespace

std::string Grade::text() const {
  std::string text;
  if (numbers() > 0)
    text = fmt::format(
        "{} of our {} number{} {} within 5 % of the papers', {} within 20 % and {} further away. ", near,
        numbers(), numbers() == 1 ? "" : "s", near == 1 ? "is" : "are", far, apart);
  if (drawn > 0)
    text +=
        fmt::format("{} of the {} and {} of the {} are of masks drawn to a potential that the paper gives. ",
                    drawn, numbers(), drawn_near, near);
  if (statements() > 0) text += fmt::format("{} of {} statements and bounds hold. ", hold, statements());
  if (circular > 0)
    text += fmt::format("{} number{} made from the papers' own {} not counted. ", circular,
                        circular == 1 ? "" : "s", circular == 1 ? "is" : "are");
  if (!text.empty()) text.pop_back();
  return text;
}

std::string Grade::exit_text() const {
  switch (exit_code()) {
    case 0:
      return "against the papers: all numbers are within 5 %, and all statements hold";
    case 3:
      return fmt::format("against the papers: exits with 3, since {} more than 5 % away", numbers_are(far));
    default:
      break;
  }
  std::string why = apart > 0 ? fmt::format("{} more than 20 % away", numbers_are(apart)) : "";
  if (fail > 0)
    why += fmt::format("{}{} statement{} not hold", why.empty() ? "" : " and ", fail,
                       fail == 1 ? " does" : "s do");
  return fmt::format("against the papers: exits with 4, since {}", why);
}

Grade grade_of(const Reproduction& reproduction) {
  Grade grade;
  for (const FigureOutput& output : reproduction.figures) {
    for_each_cell(output, [&](const FigureTable& table, const Cell& cell) {
      if (!cell.paper.empty()) grade.add(verdict_on(output.paper.at(cell.paper), cell.ours), table.drawn);
    });
  }
  return grade;
}

}  // namespace lacuna::reproduce
