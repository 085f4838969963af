// liblacuna_mpi.so: the transport of a sweep by MPI. It is loaded when a program is started by mpirun or
// srun.
#include <mpi.h>
#include <vector>

#include "sweep/run/mpi/transport.h"

namespace {

constexpr int kTag = 1;
std::vector<char> received;

void send_bytes(int to, const void* bytes, size_t count) {
  MPI_Send(bytes, static_cast<int>(count), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
}

const void* receive_bytes(int* from, size_t* count) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return nullptr;
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  received.resize(static_cast<size_t>(size) + 1);  // never empty
  MPI_Recv(received.data(), size, MPI_BYTE, status.MPI_SOURCE, kTag, MPI_COMM_WORLD, &status);
  *from = status.MPI_SOURCE;
  *count = static_cast<size_t>(size);
  return received.data();
}

void finish() { MPI_Finalize(); }

LacunaTransport transport{};

}  // namespace

extern "C" __attribute__((visibility("default"))) const LacunaTransport* lacuna_open_transport() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    return nullptr;
  }
  transport = {0, 1, send_bytes, receive_bytes, finish};
  MPI_Comm_rank(MPI_COMM_WORLD, &transport.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &transport.size);
  return &transport;
}
