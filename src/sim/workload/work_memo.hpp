// Cache of what machines have computed of one operation, for others that need the same: streams and their
// cycles do not depend on the memory system, on prices, or (for some machines) on columns and tiles.
#pragma once

#include <any>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/params.hpp"

namespace lacuna {

// Memo of one operation of one layer, used by one thread at a time. A key must name everything that the value
// depends on besides the operation: memo_key().
class WorkMemo {
 public:
  template <typename Value, typename Compute>
  std::shared_ptr<const Value> get(const std::string& key, const Compute& compute) {
    const auto at = values_.find(key);
    if (at != values_.end()) return std::any_cast<std::shared_ptr<const Value>>(at->second);
    auto value = std::make_shared<const Value>(compute());
    values_.emplace(key, value);
    return value;
  }

 private:
  std::unordered_map<std::string, std::any> values_;
};

// The machine's model and all of its parameters but those that do not enter what is remembered. A parameter
// that a model gains later is part of its keys until somebody says that it does not matter.
std::string memo_key(const Params& params, const std::vector<ParamSpec>& irrelevant,
                     const std::vector<std::string>& also_irrelevant = {});

}  // namespace lacuna
