// A sweep of several processes: rank 0 deals out chunks, computes and alone writes; the other ranks compute.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sweep/run/runner.hpp"

struct LacunaTransport;

namespace lacuna::sweep {

// The processes that this one was started with.
class Ranks {
 public:
  // Null if mpirun or srun did not start this process. Throws InputError if it did, but the program has no
  // module for MPI.
  static std::unique_ptr<Ranks> open();
  ~Ranks();

  int rank() const;
  int size() const;

  // The other ranks: computes the chunks that rank 0 gives until it ends.
  void compute(Sweep& sweep, int threads);
  // The other ranks: the reason why this one cannot help, which rank 0 shows to the user.
  void excuse(std::string reason) { excuse_ = std::move(reason); }

  // Rank 0, for run_chunks(). The other ranks must be in compute() with the same sweep.
  // Gives the chunk to a rank that waits for one; false if none does.
  bool give(const Chunk& chunk);
  // Adds the results that have arrived, and a note about each rank that could not help. Throws InputError if
  // one of them sees another plan.
  void collect(const Sweep& sweep, std::vector<ChunkResult>& results, std::vector<std::string>& notes);
  int working() const { return working_; }  // chunks given whose results have not arrived

 private:
  explicit Ranks(const LacunaTransport* transport);
  // Rank 0: ends the other ranks and waits until they are gone.
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
  std::vector<int> waiting_;  // rank 0: chunks that each rank would take
  int working_ = 0;           // rank 0
  int running_ = 0;           // rank 0: other ranks that have not ended
};

}  // namespace lacuna::sweep
