"""lacuna.convert: layers that run kernels which skip zeros."""
