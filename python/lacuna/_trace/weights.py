"""Weights between PyTorch and `lacuna train`, by the names both have."""

from typing import Dict

import torch
from torch import nn

from .container import read_container, write_container


def load_weights(path: str) -> Dict[str, torch.Tensor]:
    """The weights in `path`, ready for `model.load_state_dict`.

    `path` is a checkpoint that `lacuna train` wrote, or any safetensors file. Anything else in a checkpoint
    (momenta, which weights are pruned) is left out. Raises TraceError if the file cannot be read.
    """
    tensors, _ = read_container(path)
    # No name of a module contains '/': those are a checkpoint's "momentum/NAME" and "alive/NAME".
    return {name: tensor for name, tensor in tensors.items() if "/" not in name}


def save_weights(model: nn.Module, path: str) -> None:
    """Write the parameters and buffers of `model` for `lacuna train --init PATH`.

    Weights of other types than float32 are converted: that is what `lacuna train` computes with. The file appears under
    its name when it is complete, or not at all.
    """
    tensors = {}
    for name, tensor in model.state_dict().items():
        if not isinstance(tensor, torch.Tensor):
            continue  # extra state of a module
        tensor = tensor.detach().cpu()
        tensors[name] = tensor.float() if tensor.is_floating_point() else tensor
    write_container(path, tensors, {"format": "pt"})
