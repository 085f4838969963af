// A sweep of several processes: rank 0 deals out chunks, computes and alone writes; the others compute.
#pragma once

#include <memory>
#include <optional>

#include "sweep/run/runner.hpp"

struct LacunaTransport;

namespace lacuna::sweep {

// The processes that this one was started with.
class Ranks {
 public:
  // Nothing if mpirun or srun did not start this process. Throws InputError if it did, but the program has no
  // module for MPI.
  static std::unique_ptr<Ranks> open();
  ~Ranks();

  int rank() const;
  int size() const;

  // Rank 0, any number of times. The others must be in compute() with the same sweep. As run_chunks().
  SweepOutcome deal(Sweep& sweep, const WorkList& work, Database& database, const RunOptions& options);
  // The other ranks: until rank 0 ends.
  void compute(Sweep& sweep, int threads);
  // The other ranks: why this one cannot help; rank 0 tells the user.
  void excuse(std::string reason) { excuse_ = std::move(reason); }

 private:
  explicit Ranks(const LacunaTransport* transport);
  // Rank 0: the others go home, and it waits until they are there.
  void dismiss();
  void send(int to, char kind, const std::string& bytes) const;
  struct Message {
    int from = 0;
    char kind = 0;
    std::string bytes;
  };
  std::optional<Message> receive() const;

  const LacunaTransport* transport_;
  std::string excuse_;
  std::vector<int> waiting_;  // rank 0: chunks that each of the others would take
  int away_ = 0;              // rank 0: who has not said goodbye
};

}  // namespace lacuna::sweep
