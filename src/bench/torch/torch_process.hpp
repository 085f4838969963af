// PyTorch in a separate process that answers requests over a pair of sockets (torch_side.py).
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace lacuna::bench {

// A new folder for temporary files, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();  // throws InputError
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

class TorchProcess {
 public:
  // Starts the first of `pythons` that has PyTorch; its files go to the folder. `variables`: "-NAME=VALUE" of
  // this environment that it does not inherit, and "+NAME=VALUE" that are set there. `stop` must outlive the
  // process. Throws InputError.
  TorchProcess(const std::vector<std::string>& pythons, const ScratchFolder& folder, int threads,
               std::vector<std::string> variables, const std::function<bool()>& stop);
  ~TorchProcess();  // ends the process
  TorchProcess(const TorchProcess&) = delete;
  TorchProcess& operator=(const TorchProcess&) = delete;

  const std::string& python() const { return python_; }
  const std::string& torch_version() const { return torch_version_; }
  const std::string& python_version() const { return python_version_; }
  const std::string& blas() const { return blas_; }  // "openblas", "reference", ...; "": not known
  pid_t id() const { return id_; }

  // Returns nothing once told to stop; the process is of no use then. Throws InputError if it ends, fails or
  // answers nonsense.
  std::optional<nlohmann::json> ask(const nlohmann::json& request);

 private:
  // Returns the problem, or "".
  std::string start(const std::string& python, const std::filesystem::path& script);
  void end();
  std::optional<std::string> read_line();
  std::optional<nlohmann::json> read_answer();
  std::string how_it_ended();
  std::string last_words() const;

  std::filesystem::path errors_;
  int threads_;
  std::vector<std::string> variables_;
  const std::function<bool()>& stop_;
  std::string python_, torch_version_, python_version_, blas_;
  std::string received_;
  pid_t id_ = -1;
  int socket_ = -1;
};

// Lists Pythons to try: the one that was named, or $PYTHON, or the usual ones.
std::vector<std::string> pythons_to_try(const std::string& named);

// Waits until no thread of the process uses the CPU any more (OpenMP's spin for a while after their work),
// two seconds at most. 0: this process.
void wait_until_asleep(pid_t process);

}  // namespace lacuna::bench
