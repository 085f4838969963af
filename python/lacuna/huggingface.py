"""lacuna.huggingface: lacuna.Profiler as a callback of Hugging Face's Trainer."""

from typing import Any

from transformers import TrainerCallback

from ._profiler.callback import Following

__all__ = ["ProfilerCallback"]


class ProfilerCallback(Following, TrainerCallback):
    """Measure a training of `transformers.Trainer`. Arguments are those of `lacuna.Profiler` after the model.

    >>> from lacuna.huggingface import ProfilerCallback
    >>> measured = ProfilerCallback("tensordash", every=100, report="profile.html")
    >>> Trainer(model, arguments, train_dataset=data, callbacks=[measured]).train()
    >>> print(measured.profiler)

    A step is one of the optimizer: with gradient accumulation the first of its forward and backward passes is measured.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._begin(kwargs["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._step()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end()
