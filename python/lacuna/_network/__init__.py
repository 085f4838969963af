"""lacuna.save_network: a PyTorch model as a network of `lacuna train`."""
