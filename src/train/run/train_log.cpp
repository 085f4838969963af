#include "train/run/train_log.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/io/output_file.hpp"

namespace lacuna::train {
namespace {
constexpr const char* kHeader =
    "steps,epoch,loss,train_accuracy,test_loss,test_accuracy,learning_rate,images_per_second,zeros_A,zeros_G,"
    "zeros_W\n";
}

TrainLog::TrainLog(std::filesystem::path path, std::int64_t from_step) : path_(std::move(path)) {
  std::string kept = kHeader;
  std::error_code ignored;
  // A link to a file of /proc, which has no size and may never end, counts as empty.
  if (from_step > 0 && std::filesystem::file_size(path_, ignored) != 0) {
    std::ifstream before(path_);
    std::string line;
    std::int64_t last = 0;
    // A line that was cut off (by a full disk, a lost machine) does not end, or has too few fields.
    while (std::getline(before, line) && !before.eof()) {
      std::int64_t step = 0;
      const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
      if (error != std::errc() || *end != ',' || step <= last || step > from_step) continue;
      if (std::ranges::count(line, ',') != std::ranges::count(std::string_view(kHeader), ',')) continue;
      kept += line + "\n";
      last = step;
    }
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

}  // namespace lacuna::train
