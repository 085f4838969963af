// Results of a storage study: how many bits tensors take in the form that a machine stores them in. Plain
// data with names and titles: the model fills it in, reports print it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tensor/data_type.hpp"
#include "trace/format/trace_storage.hpp"

namespace lacuna {

// The trace that was studied, and the machine's name in results.
struct StudySubject {
  std::string path;
  TraceInfo info;
  std::int64_t batch = 1;
  std::string arch;
};

// A fact about the whole study, for JSON.
struct StudySetting {
  std::string name;
  std::variant<std::int64_t, std::string> value;  // text also becomes a column of CSV
};

// --- bits: forms x layers x tensors ---

// A way to store a tensor.
struct StorageForm {
  std::string name;   // in JSON and CSV
  std::string title;  // of its column in tables; empty: in JSON and CSV only
  std::string group;  // the heading above that column
};

struct StoredTensorSize {
  TraceTensor which = Operand::kA;
  double batch_scale = 1;  // to the batch trained with; 1 for weights, which are the same for the whole batch
  std::int64_t elements = 0;
  std::int64_t nonzeros = 0;
  std::vector<std::int64_t> counts;  // StorageSizes::count_names
  // Bits in each of StorageSizes::forms, for values of that type.
  std::map<DataType, std::vector<double>> bits;  // of kRecordedTypes
};

struct StorageSizes {
  struct LayerSizes {
    std::string name;
    std::string shape;
    std::vector<StoredTensorSize> tensors;  // A, A_forward where the layer has it, W, G
  };

  StudySubject subject;
  std::vector<StudySetting> settings;
  std::string description;         // of the settings, one line above tables
  std::vector<StorageForm> forms;  // the first is the dense form that tables compare with
  std::vector<std::string> count_names;
  std::vector<LayerSizes> layers;

  // The tensors that any layer has.
  std::vector<TraceTensor> tensors() const;
  // Bits in each form over all layers, scaled to the batch trained with: of one tensor, or of all.
  std::vector<double> total(TraceTensor which, DataType type) const;
  std::vector<double> total(DataType type) const;
};

// --- the unit behind the PEs that brings outputs into the stored form: does it keep up? ---

// A number that is reported for each operation of each layer.
struct BacksideMeasure {
  enum class Total { kNone, kSum, kLargest };

  std::string name;            // in JSON and CSV
  std::string title;           // of its column in tables; empty: in JSON and CSV only
  std::string group;           // the heading above that column, if any
  int decimals = 0;            // in tables
  Total total = Total::kNone;  // over operations; sums are scaled to the batch trained with
};

struct BacksideOp {
  Operation op = Operation::kForward;
  double batch_scale = 1;
  std::vector<double> values;  // of BacksideLoads::measures
};

struct BacksideLoads {
  struct LayerLoads {
    std::string name;
    std::string shape;
    std::vector<BacksideOp> ops;
  };

  StudySubject subject;
  std::vector<StudySetting> settings;
  std::string description;
  std::vector<BacksideMeasure> measures;
  // Indices of the operation's cycles, and of those in which it waits for the unit.
  std::size_t cycles = 0, stalls = 0;
  std::vector<LayerLoads> layers;
};

StudySubject study_subject(const Trace& trace, std::string arch);

}  // namespace lacuna
