// Changes between two result files: by run, operation and layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "report/result/result_json.hpp"

namespace lacuna {

// A setting that is not the same on both sides; empty text: not there.
struct SettingChange {
  std::string name;
  std::string a;
  std::string b;
};

struct OpChange {
  std::string layer;
  Operation op = Operation::kForward;
  CycleComparison a;
  CycleComparison b;
  // Names of fields that changed by more than the threshold: "cycles", "counters.steps".
  std::vector<std::string> fields;

  double effect() const { return b.cycles > a.cycles ? b.cycles - a.cycles : a.cycles - b.cycles; }
};

// The same trace on the same machine in both files, or on two machines if each file has one only.
struct RunComparison {
  const RunResult* a = nullptr;
  const RunResult* b = nullptr;
  std::vector<SettingChange> settings;  // machine, engine, seed, parameters, energy table
  std::vector<OpChange> changes;        // the largest change of cycles first
  std::vector<std::string> only_a;      // "conv1 forward"
  std::vector<std::string> only_b;
  std::size_t operations = 0;                      // compared
  std::optional<StoredEnergy> energy_a, energy_b;  // both or none
  bool energy_differs = false;                     // by more than the threshold, in some operation

  bool differs() const { return !changes.empty() || !only_a.empty() || !only_b.empty() || energy_differs; }
};

struct Comparison {
  std::vector<RunComparison> runs;
  std::vector<const RunResult*> only_a;
  std::vector<const RunResult*> only_b;

  // Results decide; settings alone do not make a difference.
  bool differs() const;
};

// `threshold`: the relative change from which a number counts as changed (0.01: more than 1 %). The files
// must outlive the result.
Comparison compare_results(const ResultFile& a, const ResultFile& b, double threshold);

struct ComparedFiles {
  std::string a, b;  // paths
  std::string version_a, version_b;
  double threshold = 0;
};
// At most `limit` layers and operations per run, 0: all.
std::string comparison_text(const Comparison& comparison, const ComparedFiles& files, std::size_t limit,
                            const TextStyle& style);
std::string comparison_json(const Comparison& comparison, const ComparedFiles& files);

}  // namespace lacuna
