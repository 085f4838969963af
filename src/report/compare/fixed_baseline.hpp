// Results of files compared with one machine in place of the baseline that each was simulated with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/result/result_json.hpp"

namespace lacuna {

using BaselineRuns = std::vector<std::shared_ptr<const RunResult>>;  // of one machine, a trace each

// The runs of a file's machine: of `arch`, or of the only one if that is empty. Throws InputError, which
// `where` starts, if there is no such machine or there are several.
BaselineRuns baseline_runs(const ResultFile& file, const std::string& arch, const std::string& where);

// Replaces the baseline of every run of a file by the run on the same trace: of the same path, else of the
// same file name. Throws InputError for a run without one, for one with other layers, and for a machine that
// waits for memory with one that does not.
void fix_baseline(ResultFile& file, const BaselineRuns& baselines, const std::string& where);

}  // namespace lacuna
