// Runs of `lacuna train` that take milliseconds, and what they leave.
#pragma once

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_program.hpp"

namespace lacuna::testing {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class TrainCommand : public ::testing::Test {
 protected:
  TrainCommand() {
    std::ofstream(model_) << "model: tiny\nlayers:\n"
                             "  - conv: {name: a, out: 8, kernel: 3, stride: 2}\n  - relu\n"
                             "  - conv: {name: b, out: 8, kernel: 3, padding: 1}\n  - batch_norm\n  - relu\n"
                             "  - dropout: {rate: 0.2}\n"
                             "  - linear: {name: c, out: $classes}\n";
  }
  // A run of milliseconds; an epoch has 8 steps.
  Words tiny(const std::string& out, const Words& more = {}) const {
    Words words = {"train",
                   "--model",
                   model_,
                   "--size",
                   "8",
                   "--train-size",
                   "64",
                   "--test-size",
                   "20",
                   "--batch",
                   "8",
                   "--threads",
                   "1",
                   "--kernels",
                   "sparse",
                   "--out",
                   folder_.file(out)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The same for a shell.
  std::string line(const std::string& out, const Words& more = {}) const {
    std::string text = "\"$LACUNA\"";
    for (const std::string& word : tiny(out, more)) text += " '" + word + "'";
    return text;
  }
  std::string file(const std::string& out, const std::string& name) const {
    return read_text(folder_.path() / out / name);
  }
  Words names(const std::string& out) const {
    Words all;
    for (const auto& entry : fs::directory_iterator(folder_.path() / out))
      all.push_back(entry.path().filename().string());
    std::ranges::sort(all);
    return all;
  }
  // log.csv as rows, without the column that is a measurement.
  std::vector<Words> log(const std::string& out) const {
    std::vector<Words> rows;
    std::istringstream text(file(out, "log.csv"));
    for (std::string row; std::getline(text, row);) {
      rows.emplace_back();
      std::istringstream fields(row);
      for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
      EXPECT_EQ(rows.back().size(), 11u) << row;
      if (rows.back().size() == 11) rows.back().erase(rows.back().begin() + 7);
    }
    return rows;
  }
  void expect_refused(const Words& words, const std::string& message) const {
    expect_error(run_lacuna(words), message);
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_.file("tiny.yaml");
};

inline const Words kFiles = {"checkpoint.safetensors", "config.json", "log.csv"};

// A run long enough not to end before a signal, short enough to be run to its end. Sanitized, a step takes
// several times as long.
inline std::string long_steps() { return runs_sanitized() ? "1000" : "4000"; }
inline Words long_run() {
  return {"--steps",      long_steps(), "--report-every",     "50",
          "--test-every", "200",        "--checkpoint-every", "100000"};
}

// Starts a run in the background, waits until its log has a line, does `then` with its $pid, and ends with
// its exit code.
inline std::string in_background(const std::string& command, const std::string& log,
                                 const std::string& then) {
  return command + " & pid=$!; for i in {1..2000}; do [ -e '" + log + "' ] && [ \"$(wc -l < '" + log +
         "')\" -gt 1 ] && break; sleep 0.005; done; " + then + "; wait $pid";
}

}  // namespace lacuna::testing
