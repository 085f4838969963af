"""Trainings whose weights are zero from the start: which weights live is rearranged as the training goes on.

SM: sparse momentum, Dettmers and Zettlemoyer, "Sparse Networks from Scratch", 2019.
DS: dynamic sparse reparameterization, Mostafa and Wang, ICML 2019.
"""

import math
from typing import List

import torch
from torch import nn

from .errors import ZooError


def weighted_layers(model: nn.Module) -> List[nn.Module]:
    return [module for module in model.modules() if isinstance(module, (nn.Conv2d, nn.Linear))]


class PrunedTraining:
    """Keeps `density` of all weights alive. Call `after_step` after every step of the optimizer."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.SGD, density: float, every: int):
        if not 0 < density < 1:
            raise ZooError(f"--density {density}: must be between 0 and 1")
        self.weights = [layer.weight for layer in weighted_layers(model)]
        self.optimizer = optimizer
        self.every = max(1, every)
        self.masks = [(torch.rand_like(weight) < density) for weight in self.weights]
        self._apply()

    def after_step(self, step: int, steps: int) -> None:
        self._apply()
        if step % self.every == 0 and step < steps:
            self.rearrange(step / steps)
            self._apply()

    def rearrange(self, progress: float) -> None:
        raise NotImplementedError

    def _apply(self) -> None:
        with torch.no_grad():
            for weight, mask in zip(self.weights, self.masks):
                weight.mul_(mask)

    def _drop_smallest(self, index: int, count: int) -> int:
        """Of the living weights of a layer, those nearest to zero die."""
        mask = self.masks[index].view(-1)
        count = min(count, int(mask.sum()) - 1)
        if count <= 0:
            return 0
        size = self.weights[index].detach().reshape(-1).abs().masked_fill(~mask, math.inf)
        mask[size.topk(count, largest=False).indices] = False
        return count

    def _grow(self, index: int, count: int, worth: torch.Tensor) -> None:
        """The dead weights of a layer with the largest worth live again, from zero."""
        mask = self.masks[index].view(-1)
        mask[worth.reshape(-1).masked_fill(mask, -math.inf).topk(count).indices] = True

    def _shared_out(self, total: int, shares: List[float]) -> List[int]:
        """`total` new weights by share, no layer more than it has room for."""
        room = [int((~mask).sum()) for mask in self.masks]
        whole = sum(shares) or 1.0
        counts = [min(space, int(total * share / whole)) for share, space in zip(shares, room)]
        left = total - sum(counts)
        for index in sorted(range(len(room)), key=lambda i: counts[i] - room[i]):  # most room first
            more = min(left, room[index] - counts[index])
            counts[index] += more
            left -= more
        return counts


class SparseMomentum(PrunedTraining):
    """A share of each layer's smallest weights dies; what layers get back, and where, follows the momentum."""

    def rearrange(self, progress: float) -> None:
        rate = 0.2 * (1 + math.cos(math.pi * progress)) / 2
        momenta = [self.optimizer.state[weight]["momentum_buffer"].abs() for weight in self.weights]
        shares = [float(m[mask].mean()) if mask.any() else 0.0 for m, mask in zip(momenta, self.masks)]
        dropped = sum(self._drop_smallest(i, int(rate * int(mask.sum()))) for i, mask in enumerate(self.masks))
        for index, count in enumerate(self._shared_out(dropped, shares)):
            self._grow(index, count, momenta[index])


class DynamicSparse(PrunedTraining):
    """Weights below one threshold of the network die; as many live again, by each layer's living weights, at random."""

    threshold = 1e-3
    target = 0.05  # the share of the living weights that a rearrangement should move

    def rearrange(self, progress: float) -> None:
        alive = sum(int(mask.sum()) for mask in self.masks)
        dropped = 0
        for index, (weight, mask) in enumerate(zip(self.weights, self.masks)):
            below = int(((weight.detach().abs() < self.threshold) & mask).sum())
            dropped += self._drop_smallest(index, below)
        if dropped < 0.9 * self.target * alive:
            self.threshold *= 2
        elif dropped > 1.1 * self.target * alive:
            self.threshold /= 2
        shares = [float(mask.sum()) for mask in self.masks]
        for index, count in enumerate(self._shared_out(dropped, shares)):
            self._grow(index, count, torch.rand_like(self.weights[index]))


METHODS = {"SM": SparseMomentum, "DS": DynamicSparse}
