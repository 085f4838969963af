// Symbols of newer C libraries that the archive of the C++ runtime (GCC 12) asks for, for a link
// against an older one.
#include <sys/random.h>

extern "C" {
// Tells that no other thread has been started, which saves atomic operations. This one never does.
extern char __libc_single_threaded;  // NOLINT(bugprone-reserved-identifier)
char __libc_single_threaded = 0;     // NOLINT(bugprone-reserved-identifier)

unsigned arc4random();
unsigned arc4random() {
  unsigned value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) __builtin_trap();
  return value;
}
}
