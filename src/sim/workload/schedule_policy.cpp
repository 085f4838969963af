#include "sim/workload/schedule_policy.hpp"

#include <stdexcept>

namespace lacuna {

Operand choose_scheduled(const Layer& layer, Operation op, SchedulePolicy policy) {
  const Operand primary = operands(op).primary;
  const Operand secondary = operands(op).secondary;
  const auto named = [&](Operand role) { return secondary == role ? secondary : primary; };
  switch (policy) {
    case SchedulePolicy::kA:
      return named(Operand::kA);
    case SchedulePolicy::kW:
      return named(Operand::kW);
    case SchedulePolicy::kG:
      return named(Operand::kG);
    case SchedulePolicy::kPrimary:
      if (op != Operation::kWeightGrad) return primary;
      break;
    case SchedulePolicy::kSparser:
      break;
  }
  // Exact shares: zeros/elements compared by cross multiplication in 128 bits.
  __extension__ using Wide = unsigned __int128;
  const LayerTensor& t = layer.tensor(primary);
  const LayerTensor& o = layer.tensor(secondary);
  const Wide secondary_share = static_cast<Wide>(o.zeros()) * static_cast<Wide>(t.elements());
  const Wide primary_share = static_cast<Wide>(t.zeros()) * static_cast<Wide>(o.elements());
  return secondary_share > primary_share ? secondary : primary;
}

SchedulePolicy schedule_policy(std::string_view name) {
  if (name == "sparser") return SchedulePolicy::kSparser;
  if (name == "primary") return SchedulePolicy::kPrimary;
  if (name == "A") return SchedulePolicy::kA;
  if (name == "W") return SchedulePolicy::kW;
  if (name == "G") return SchedulePolicy::kG;
  throw std::invalid_argument("no such policy: " + std::string(name));
}

}  // namespace lacuna
