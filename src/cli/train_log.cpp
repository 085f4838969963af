#include "cli/train_log.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <string>

#include "base/error.hpp"
#include "base/output_file.hpp"

namespace lacuna::cli {
namespace {
constexpr const char* kHeader =
    "steps,epoch,loss,train_accuracy,test_loss,test_accuracy,learning_rate,images_per_second,zeros_A,zeros_G,"
    "zeros_W\n";
}

TrainLog::TrainLog(std::filesystem::path path, std::int64_t from_step) : path_(std::move(path)) {
  std::string kept = kHeader;
  if (from_step > 0) {
    std::ifstream before(path_);
    std::string line;
    while (std::getline(before, line))
      if (!line.empty() && line[0] >= '0' && line[0] <= '9' && std::atoll(line.c_str()) <= from_step)
        kept += line + "\n";
  }
  write_file(path_, kept);
  file_.open(path_, std::ios::app);
}

void TrainLog::add(const TrainLine& line) {
  const std::string test =
      line.test ? fmt::format("{:.6g},{:.6g}", line.test->loss, line.test->accuracy) : ",";
  file_ << fmt::format("{},{:.6g},{:.6g},{:.6g},{},{:.6g},{:.1f},{:.4f},{:.4f},{:.4f}\n", line.step,
                       line.epoch, line.loss, line.accuracy, test, line.rate, line.images_per_second,
                       line.zeros.activations, line.zeros.gradients, line.weight_zeros);
  file_.flush();
  if (!file_)
    throw InputError(path_.string(), "the log cannot be written",
                     "is the disk full? the last checkpoint is untouched");
}

}  // namespace lacuna::cli
