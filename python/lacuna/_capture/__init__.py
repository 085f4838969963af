"""lacuna.capture: recording a training step."""
