"""lacuna.lightning: lacuna.Profiler as a callback of Lightning's Trainer."""

from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback

from ._profiler.callback import Following

__all__ = ["ProfilerCallback"]


class ProfilerCallback(Following, Callback):
    """Measure a training of Lightning's `Trainer`. Arguments are those of `lacuna.Profiler` after the model.

    >>> from lacuna.lightning import ProfilerCallback
    >>> measured = ProfilerCallback("tensordash", every=100, csv="profile.csv")
    >>> Trainer(callbacks=[measured]).fit(model, loader)
    >>> print(measured.profiler)

    A step is one of the optimizer: with gradient accumulation the first of its forward and backward passes is measured.
    """

    _optimizer_steps = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._optimizer_steps = trainer.global_step
        self._begin(pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *batch: Any, **kwargs: Any) -> None:
        if trainer.global_step != self._optimizer_steps:
            self._optimizer_steps = trainer.global_step
            self._step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end(whole=False)
