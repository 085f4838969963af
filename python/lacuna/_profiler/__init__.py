"""lacuna.Profiler: measuring a training while it runs."""
