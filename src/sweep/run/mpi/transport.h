/* Messages between the processes of a sweep, as the module liblacuna_mpi.so offers them: plain C, so that the
 * program needs no MPI to be built or started, and the module nothing of the program. */
#ifndef LACUNA_SWEEP_MPI_TRANSPORT_H
#define LACUNA_SWEEP_MPI_TRANSPORT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All functions are called by one thread. */
struct LacunaTransport {
  int rank, size;
  /* Returns when the bytes may be changed. */
  void (*send)(int to, const void* bytes, size_t count);
  /* The next message from any process, or NULL if none is there; valid until the next call. */
  const void* (*receive)(int* from, size_t* count);
  /* Every process calls it at the end. */
  void (*finish)(void);
};

#define LACUNA_TRANSPORT_SYMBOL "lacuna_open_transport"
/* NULL if MPI cannot be started. */
typedef const struct LacunaTransport* (*LacunaOpenTransport)(void);

#ifdef __cplusplus
}
#endif
#endif
