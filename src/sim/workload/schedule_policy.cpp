#include "sim/workload/schedule_policy.hpp"

#include <stdexcept>

namespace lacuna {

Operand choose_scheduled(const Layer& layer, Operation op, SchedulePolicy policy) {
  const auto [primary, secondary] = operands(op);
  if (const Operand* fixed = std::get_if<Operand>(&policy)) return *fixed == secondary ? secondary : primary;
  // The paper takes whichever has more zeros in A*G.
  if (policy == SchedulePolicy(OperandRule::kPrimary) && op != Operation::kWeightGrad) return primary;
  // Exact shares: zeros/elements compared by cross multiplication in 128 bits.
  __extension__ using Wide = unsigned __int128;
  const LayerTensor& t = layer.tensor(primary);
  const LayerTensor& o = layer.tensor(secondary);
  const Wide secondary_share = static_cast<Wide>(o.zeros()) * static_cast<Wide>(t.elements());
  const Wide primary_share = static_cast<Wide>(t.zeros()) * static_cast<Wide>(o.elements());
  return secondary_share > primary_share ? secondary : primary;
}

SchedulePolicy schedule_policy(std::string_view name) {
  if (name == "sparser") return OperandRule::kSparser;
  if (name == "primary") return OperandRule::kPrimary;
  for (const Operand operand : kOperands) {
    if (name == operand_name(operand)) return operand;
  }
  throw std::invalid_argument("no such policy: " + std::string(name));
}

}  // namespace lacuna
