// How many bits tensors take in the form that a machine stores them in: a study that a model may register
// beside its accelerator. Results are plain data with names and titles, so that reports can print any of
// them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/accelerator.hpp"
#include "tensor/data_type.hpp"

namespace lacuna {

// What was studied: a trace, and the machine's name as results show it.
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
  Operand role = Operand::kA;
  double batch_scale = 1;  // to the batch trained with; 1 for weights, which are the same for the whole batch
  std::int64_t elements = 0;
  std::int64_t nonzeros = 0;
  std::vector<std::int64_t> counts;    // StorageSizes::count_names
  std::vector<double> fp32, bfloat16;  // bits in each of StorageSizes::forms

  const std::vector<double>& bits(DataType type) const { return type == DataType::kFp32 ? fp32 : bfloat16; }
};

struct StorageSizes {
  struct LayerSizes {
    std::string name;
    std::string shape;
    std::vector<StoredTensorSize> tensors;  // A, W, G
  };

  StudySubject subject;
  std::vector<StudySetting> settings;
  std::string description;         // of the settings, one line above tables
  std::vector<StorageForm> forms;  // the first is the dense form that tables compare with
  std::vector<std::string> count_names;
  std::vector<LayerSizes> layers;

  // Bits in each form over all layers, scaled to the batch trained with: of one tensor, or of all three.
  std::vector<double> total(Operand role, DataType type) const;
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
  // Which of them are the cycles of the operation, and those in which it waits for the unit.
  std::size_t cycles = 0, stalls = 0;
  std::vector<LayerLoads> layers;
};

// --- registration ---

// Contract: both functions depend on their arguments alone and may call parallel_for. They leave `subject`
// to the caller. `machine` is a machine of `model`; `params` are those declared here, checked.
struct StorageStudy {
  std::string model;              // the accelerator whose machines it studies
  std::string summary;            // one line
  std::vector<ParamSpec> params;  // of the study; no name may be a parameter of the model too
  std::function<StorageSizes(const Trace&, const Accelerator& machine, const Params& params)> sizes;
  // Empty where the machine has no such unit. Throws InputError as simulate_trace() does.
  std::function<BacksideLoads(const Trace&, const Accelerator& machine, const Params& params, int threads)>
      backside;
};

StudySubject study_subject(const Trace& trace, std::string arch);

class StorageStudyRegistry {
 public:
  static StorageStudyRegistry& instance();
  void add(StorageStudy study);
  const std::vector<StorageStudy>& studies() const { return studies_; }  // sorted by model
  const StorageStudy* find(std::string_view model) const;

 private:
  std::vector<StorageStudy> studies_;
};

// `static const RegisterStorageStudy kRegister{{.model = "tensordash", ...}};` in a model's .cpp.
struct RegisterStorageStudy {
  explicit RegisterStorageStudy(StorageStudy study) {
    StorageStudyRegistry::instance().add(std::move(study));
  }
};

}  // namespace lacuna
