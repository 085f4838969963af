// Fields of a result that are not of its layers: the recorded step, the machine and its settings. JSON, its
// reader, the schemas, docs/output.md and the page's types follow from the two lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json.hpp"
#include "report/result/json_reader.hpp"
#include "sim/result.hpp"

namespace lacuna {

enum class HeadKind {
  kText,
  kEngine,    // "fast" or "functional"
  kNumber,    // any
  kAmount,    // a number from 0
  kShare,     // a number from 0 to 1
  kCount,     // an integer from 0
  kPositive,  // an integer from 1
  kLeftOut,   // parts of the network that a trace does not hold
  kConfig,    // parameters by name
  kBaseline,  // a machine and its parameters, or null
};

struct HeadField {
  std::string_view name = {};
  HeadKind kind = HeadKind::kText;
  std::string_view meaning = {};  // half a sentence, in Markdown
  bool optional = false;          // absent where it is not known
};

// Calls visit(field, member) for each field of a recorded step, in the order of files.
template <typename Text, typename Info, typename Count, typename Visit>
void each_step_field(Text& trace, Info& info, Count& batch, const Visit& visit) {
  using enum HeadKind;
  visit(HeadField{"trace", kText, "path as given"}, trace);
  visit(HeadField{"model", kText, "name of the network, from the trace"}, info.model);
  visit(HeadField{"dataset", kText, "name of the data, from the trace", true}, info.dataset);
  visit(HeadField{"progress", kShare, "of the training, 0 to 1", true}, info.progress);
  visit(HeadField{"epoch", kAmount, "of the training", true}, info.epoch);
  visit(HeadField{"accuracy", kShare, "at that moment, 0 to 1", true}, info.accuracy);
  visit(HeadField{"loss", kNumber, "at that moment", true}, info.loss);
  visit(HeadField{"samples", kPositive, "samples recorded", true}, info.samples);
  visit(HeadField{"recorded_share", kShare,
                  "share of the network's multiply-accumulates that the trace holds, 0 to 1; absent if it "
                  "leaves nothing out, or `macs` of what it leaves out are not known",
                  true},
        info.recorded_share);
  visit(HeadField{"left_out", kLeftOut,
                  "parts of the network that the trace does not hold and no number here counts: `name`, "
                  "`type` and `macs`, the multiply-accumulates of the forward pass of a batch (`null`: not "
                  "known); absent if there are none",
                  true},
        info.left_out);
  visit(HeadField{"batch", kPositive,
                  "samples trained with, which `per_batch` scales to; without it in the trace, the largest "
                  "number of samples of any layer"},
        batch);
}

// The same for a run: the step, then the machine.
template <typename Run, typename Visit>
void each_run_field(Run& run, const Visit& visit) {
  using enum HeadKind;
  each_step_field(run.trace, run.info, run.batch, visit);
  visit(HeadField{"arch", kText, "machine or named configuration"}, run.arch);
  visit(HeadField{"base", kText, "the model that it is a configuration of"}, run.base);
  visit(HeadField{"engine", kEngine, "`fast` or `functional`"}, run.engine);
  visit(HeadField{"seed", kCount, "of the values drawn for masks"}, run.seed);
  visit(HeadField{"config", kConfig, "every parameter as resolved, numbers and flags as such"}, run.config);
  visit(HeadField{"baseline", kBaseline,
                  "the machine that speedups and efficiencies refer to: `arch` and `config`; `null` if the "
                  "machine is its own baseline (`dense`)"},
        run.baseline);
}

// Returns an object of the fields; values that are not known are absent.
Json step_json(const std::string& trace, const TraceInfo& info, std::int64_t batch);
Json run_head_json(const RunResult& run);

Json config_json(const std::vector<ConfigValue>& config);

// Reads them back. Throws InputError.
void read_run_head(const JsonReader& source, RunResult& run);

}  // namespace lacuna
