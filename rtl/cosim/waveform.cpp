// Draws the worked example of the paper's Fig. 7 as a waveform, from the RTL: waveform > fig7.svg
#include <fmt/format.h>
#include <iostream>
#include <string>
#include <vector>

#include "Vfe_fig7.h"
#include "bits.hpp"
#include "clocking.hpp"
#include "top.hpp"

namespace {

using lacuna::rtl::get_bits;
using lacuna::rtl::set_bits;

constexpr int kLanes = 4, kDepth = 2, kSteps = 4, kWidth = 16;
constexpr int kLeft = 170, kCycle = 130, kRow = 34;

// Effectual lanes by step {1,2} {0,3} {1} {0,2}; the value of step s, lane l is shown as "sl".
constexpr int kValues[kSteps][kLanes] = {{0, 1, 2, 0}, {10, 0, 0, 13}, {0, 21, 0, 0}, {30, 0, 32, 0}};

std::string shown(std::uint64_t value) { return value == 0 ? "-" : fmt::format("b{}", value - 1); }

// One signal with a text per clock; equal neighbours share a box.
std::string signal(int row, const std::string& name, const std::vector<std::string>& values) {
  const int y = 40 + row * kRow;
  std::string out =
      fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 12, y + 19, name);
  for (std::size_t first = 0; first < values.size();) {
    std::size_t end = first + 1;
    while (end < values.size() && values[end] == values[first]) ++end;
    const int x0 = kLeft + static_cast<int>(first) * kCycle, x1 = kLeft + static_cast<int>(end) * kCycle;
    out += fmt::format(
        "<path d=\"M{} {} l6 -11 H{} l6 11 l-6 11 H{} Z\" fill=\"#eef4fb\" stroke=\"#2d6ab4\"/>"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        x0, y + 15, x1 - 6, x0 + 6, (x0 + x1) / 2, y + 19, values[first]);
    first = end;
  }
  return out;
}

}  // namespace

int main() {
  lacuna::rtl::OwnedTop<Vfe_fig7> top;
  lacuna::rtl::reset_frontend(*top);

  std::vector<std::string> offered, taken, issue, slide;
  std::vector<std::vector<std::string>> pending(kDepth), staged(kDepth), lanes(kLanes);
  int step = 0;
  for (int n = 0; n < 4; ++n, lacuna::rtl::tick(*top)) {
    unsigned valid = 0, last = 0;
    std::string text;
    for (int s = 0; s < kDepth && step + s < kSteps; ++s) {
      valid |= 1U << s;
      if (step + s + 1 == kSteps) last |= 1U << s;
      text += fmt::format("{}step {}", s > 0 ? ", " : "", step + s);
      for (int l = 0; l < kLanes; ++l) {
        const int value = kValues[step + s][l];
        set_bits(top->offer_b_i, static_cast<std::size_t>((s * kLanes + l) * kWidth), kWidth,
                 value == 0 ? 0 : static_cast<std::uint64_t>(value) + 1);
      }
    }
    top->offer_valid_i = static_cast<std::uint8_t>(valid);
    top->offer_last_i = static_cast<std::uint8_t>(last);
    top->eval();
    const bool issues = top->issue_o != 0;
    offered.push_back(text.empty() ? "nothing" : text);
    taken.push_back(fmt::format("{}", top->offer_take_o));
    issue.push_back(issues ? (top->last_o != 0 ? "1, last" : "1") : "0");
    slide.push_back(issues ? fmt::format("{}", top->slide_o) : "-");
    for (std::size_t s = 0; s < kDepth; ++s) {
      std::string values;
      for (std::size_t l = 0; l < kLanes; ++l)
        values += fmt::format("{} ", shown(get_bits(top->staged_o, (s * kLanes + l) * kWidth, kWidth)));
      staged[s].push_back(issues ? values : "empty");
      std::string bits;
      for (std::size_t l = 0; l < kLanes; ++l)
        bits += get_bits(top->pending_o, s * kLanes + l, 1) != 0 ? '1' : '0';
      pending[s].push_back(issues ? bits : "-");
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
      const bool used = get_bits(top->valid_o, l, 1) != 0;
      lanes[l].push_back(!issues ? "-"
                         : used  ? fmt::format("MS={}: {}", get_bits(top->sel_o, l * 2, 2),
                                               shown(get_bits(top->operands_o, l * kWidth, kWidth)))
                                 : "idle");
    }
    step += top->offer_take_o;
  }

  int row = 0;
  std::string body = signal(row++, "rows on offer", offered);
  body += signal(row++, "offer_take_o", taken);
  for (std::size_t s = 0; s < kDepth; ++s)
    body += signal(row++, fmt::format("staging row +{}", s), staged[s]);
  for (std::size_t s = 0; s < kDepth; ++s)
    body += signal(row++, fmt::format("effectual +{}, lanes 0-3", s), pending[s]);
  body += signal(row++, "issue_o", issue);
  for (std::size_t l = 0; l < kLanes; ++l) body += signal(row++, fmt::format("lane {}", l), lanes[l]);
  body += signal(row++, "AS", slide);
  std::cout << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kLeft + 4 * kCycle + 20, 60 + row * kRow);
  for (int n = 0; n < 4; ++n) {
    const int x = kLeft + n * kCycle;
    std::cout << fmt::format(
        "<line x1=\"{0}\" x2=\"{0}\" y1=\"30\" y2=\"{1}\" stroke=\"#ccc\"/><text x=\"{2}\" y=\"24\" "
        "text-anchor=\"middle\" "
        "fill=\"#666\">cycle {3}</text>\n",
        x, 50 + row * kRow, x + kCycle / 2, n);
  }
  std::cout << body << "</svg>\n";
  return 0;
}
