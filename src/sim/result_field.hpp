// Description of a field of a result, and the builders of the tables in result_fields.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/result.hpp"
#include "sim/run_energy.hpp"

namespace lacuna {

enum class FieldKind {
  kCount,     // std::int64_t
  kRatio,     // double
  kWord,      // one of Field::words
  kCounters,  // the machine's own counts by name
  kMapping,   // the machine's own choices by name
  kActivity,  // a record that kActivityFields describes
};

// Scaling of a layer's recorded value to the whole batch. Counts of layers add up; the rest does not.
enum class FieldScope {
  kSamples,  // of the samples recorded: times LayerResult::batch_scale
  kBatch,    // once per batch, whatever its size
  kNone,     // a word or a ratio
};

using FieldValue = std::variant<std::monostate,  // absent
                                std::int64_t, double, std::string_view, const std::vector<Counter>*,
                                const Activity*, const std::vector<MappingChoice>*>;

// A field of a record that is read through `View` and written through `Target`.
template <typename View, typename Target>
struct Field {
  std::string_view name = {};
  std::string_view unit = {};     // empty for words and ratios
  std::string_view meaning = {};  // half a sentence, in Markdown
  FieldKind kind = FieldKind::kCount;
  FieldScope scope = FieldScope::kSamples;
  bool optional = false;  // absent, or null, where a machine has no such value
  FieldValue (*get)(View) = nullptr;
  void (*set)(Target, const FieldValue&) = nullptr;  // null: it follows from other fields
  std::span<const std::string_view> words = {};
  std::string_view numerator = {}, denominator = {};  // fields that a ratio is of, if it names them
  // The same of sums over operations; null if totals do not list the field.
  double (*total)(const CycleComparison&) = nullptr;
};

// An operation of a run: the machine's result and the baseline's.
struct OpView {
  const OpResult& machine;
  const OpResult& baseline;
};
struct OpTarget {
  OpResult& machine;
  OpResult& baseline;
};
using OpField = Field<OpView, OpTarget>;
using ActivityField = Field<const Activity&, Activity&>;
using EnergyField = Field<const EnergyComparison&, EnergyComparison&>;

// Builders: each takes where the value is as template arguments.
namespace fields {

// The values that are written as words, and the word of each.
template <typename T>
struct Word : std::false_type {};
template <const auto& Values, auto Name>
struct WordOf : std::true_type {
  static constexpr const auto& kValues = Values;
  static constexpr auto kName = Name;
  static constexpr auto kWords = [] {
    std::array<std::string_view, Values.size()> words;
    std::ranges::transform(Values, words.begin(), Name);
    return words;
  }();
};
template <>
struct Word<Operation> : WordOf<kOperations, operation_name> {};
template <>
struct Word<ScheduledOperands> : WordOf<kScheduledOperands, scheduled_name> {};
template <>
struct Word<Bound> : WordOf<kBounds, bound_name> {};

template <typename T>
FieldValue read(const T& member) {
  if constexpr (Word<T>::value) {
    return Word<T>::kName(member);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return member;
  } else {
    return member ? FieldValue(*member) : FieldValue();
  }
}

template <typename T>
void write(T& member, const FieldValue& value) {
  if constexpr (Word<T>::value) {
    const auto& words = Word<T>::kWords;
    const auto at = std::ranges::find(words, std::get<std::string_view>(value)) - words.begin();
    member = Word<T>::kValues[static_cast<std::size_t>(at)];
  } else if (std::holds_alternative<std::int64_t>(value)) {
    member = std::get<std::int64_t>(value);
  } else {
    member = {};
  }
}

template <typename Class, typename T>
T type_of_member(T Class::*);

// A field without accessors, of the kind that the member's type asks for.
template <typename AnyField, auto Member>
constexpr AnyField of_member(std::string_view name, std::string_view unit, std::string_view meaning) {
  using T = decltype(type_of_member(Member));
  AnyField field{.name = name, .unit = unit, .meaning = meaning};
  if constexpr (Word<T>::value) {
    field.kind = FieldKind::kWord;
    field.scope = FieldScope::kNone;
    field.words = Word<T>::kWords;
  }
  return field;
}

// A member of the machine's result.
template <auto Member>
constexpr OpField machine(std::string_view name, std::string_view unit, std::string_view meaning) {
  auto field = of_member<OpField, Member>(name, unit, meaning);
  field.get = [](OpView op) { return read(op.machine.*Member); };
  field.set = [](OpTarget op, const FieldValue& value) { write(op.machine.*Member, value); };
  return field;
}

// A member of the baseline's result.
template <auto Member>
constexpr OpField baseline(std::string_view name, std::string_view unit, std::string_view meaning) {
  auto field = of_member<OpField, Member>(name, unit, meaning);
  field.get = [](OpView op) { return read(op.baseline.*Member); };
  field.set = [](OpTarget op, const FieldValue& value) { write(op.baseline.*Member, value); };
  return field;
}

// A member of the baseline's activity; absent without one.
template <auto Member>
constexpr OpField baseline_activity(std::string_view name, std::string_view unit, std::string_view meaning) {
  auto field = of_member<OpField, Member>(name, unit, meaning);
  field.optional = true;
  field.get = [](OpView op) {
    return op.baseline.activity ? read((*op.baseline.activity).*Member) : FieldValue();
  };
  field.set = [](OpTarget op, const FieldValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return;
    if (!op.baseline.activity) op.baseline.activity.emplace();
    write((*op.baseline.activity).*Member, value);
  };
  return field;
}

// A field of cycles that totals list as well.
template <auto Sum>
constexpr OpField summed(OpField field) {
  field.total = [](const CycleComparison& cycles) { return cycles.*Sum; };
  return field;
}

// A ratio of two kinds of cycles; not finite where there are none.
template <auto Over, auto Under>
constexpr OpField ratio(std::string_view name, std::string_view numerator, std::string_view denominator,
                        std::string_view meaning) {
  OpField field{.name = name, .meaning = meaning, .kind = FieldKind::kRatio, .scope = FieldScope::kNone};
  field.numerator = numerator;
  field.denominator = denominator;
  field.total = [](const CycleComparison& cycles) { return cycles.*Over / cycles.*Under; };
  field.get = [](OpView op) {
    const CycleComparison cycles = compare_cycles(op.machine, op.baseline);
    return FieldValue(cycles.*Over / cycles.*Under);
  };
  return field;
}

constexpr OpField counters(std::string_view name, std::string_view meaning) {
  OpField field{.name = name, .meaning = meaning, .kind = FieldKind::kCounters, .optional = true};
  field.get = [](OpView op) {
    return op.machine.counters.empty() ? FieldValue() : FieldValue(&op.machine.counters);
  };
  return field;
}

constexpr OpField mapping(std::string_view name, std::string_view meaning) {
  OpField field{.name = name, .meaning = meaning, .kind = FieldKind::kMapping, .scope = FieldScope::kNone};
  field.optional = true;
  field.get = [](OpView op) {
    return op.machine.mapping.empty() ? FieldValue() : FieldValue(&op.machine.mapping);
  };
  return field;
}

// A ratio of the machine alone; absent where `Over` or `Under`, functions of its result, has no value or 0.
template <auto Over, auto Under>
constexpr OpField own_ratio(std::string_view name, std::string_view unit, std::string_view meaning) {
  OpField field{.name = name, .unit = unit, .meaning = meaning, .kind = FieldKind::kRatio};
  field.scope = FieldScope::kNone;
  field.optional = true;
  field.get = [](OpView op) {
    const std::int64_t over = Over(op.machine), under = Under(op.machine);
    return under > 0 ? FieldValue(static_cast<double>(over) / static_cast<double>(under)) : FieldValue();
  };
  return field;
}

constexpr OpField activity(std::string_view name, std::string_view meaning) {
  OpField field{.name = name, .meaning = meaning, .kind = FieldKind::kActivity, .optional = true};
  field.get = [](OpView op) {
    return op.machine.activity ? FieldValue(&*op.machine.activity) : FieldValue();
  };
  return field;
}

// A member of an activity.
template <auto Member>
constexpr ActivityField moved(std::string_view name, std::string_view unit, std::string_view meaning,
                              FieldScope scope = FieldScope::kSamples) {
  auto field = of_member<ActivityField, Member>(name, unit, meaning);
  if (field.kind == FieldKind::kCount) field.scope = scope;
  field.get = [](const Activity& of) { return read(of.*Member); };
  field.set = [](Activity& of, const FieldValue& value) { write(of.*Member, value); };
  return field;
}

// A field that files of earlier versions do not have.
constexpr ActivityField optional(ActivityField field) {
  field.optional = true;
  return field;
}

// Traffic of activations and gradients (Activity::samples) or of weights, which move once per batch.
template <auto Part, auto Member>
constexpr ActivityField traffic(std::string_view name, std::string_view unit, std::string_view meaning) {
  auto field = of_member<ActivityField, Member>(name, unit, meaning);
  if (Part == &Activity::weights) field.scope = FieldScope::kBatch;
  field.get = [](const Activity& of) { return read(of.*Part.*Member); };
  field.set = [](Activity& of, const FieldValue& value) { write(of.*Part.*Member, value); };
  return field;
}

template <auto Ratio>
constexpr EnergyField efficiency(std::string_view name, std::string_view meaning, bool optional = false) {
  EnergyField field{.name = name, .meaning = meaning, .kind = FieldKind::kRatio, .scope = FieldScope::kNone};
  field.optional = optional;
  field.get = [](const EnergyComparison& energy) { return FieldValue((energy.*Ratio)()); };
  return field;
}

}  // namespace fields

}  // namespace lacuna
