"""liblacuna.so, loaded with ctypes."""
