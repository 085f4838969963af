"""A profiler that begins, steps and ends with somebody else's training loop."""

import inspect
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from torch import nn

from .profiler import Profiler


class Following:
    """Base of the callbacks: takes the arguments of `lacuna.Profiler` except the model."""

    profiler: Optional[Profiler] = None  # of the last training; its measurements stay when that has ended

    def __init__(
        self,
        machines: Union[str, Sequence[str]] = (),
        set: Optional[Mapping[str, Any]] = None,  # noqa: A002 - as in lacuna.Profiler
        **options: Any,
    ) -> None:
        super().__init__()
        if "optimizer" in options:
            raise TypeError("the training loop counts its steps; leave out optimizer=")
        self._options: Dict[str, Any] = dict(machines=machines, set=set, **options)
        inspect.signature(Profiler).bind(None, **self._options)  # a misspelt option is an error before data are loaded

    def _begin(self, model: nn.Module) -> None:
        self._end(whole=False)
        self.profiler = Profiler(model, **self._options).start()

    def _step(self) -> None:
        if self.profiler is not None:
            self.profiler.step()

    def _end(self, whole: bool = True) -> None:
        if self.profiler is not None:
            self.profiler.close(wait=whole, merge=whole)

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "profiler": None}
