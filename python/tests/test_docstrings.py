"""The examples of docstrings run, and give what they show; a number with a unit may be another one."""

import contextlib
import doctest
import importlib
import os
import pkgutil
import re
import unittest
import warnings

import torch
from torch import nn

import lacuna
from support import RecordingTest

_MEASURED = re.compile(r"[0-9.]+ ms|an unknown time")


class _Checker(doctest.OutputChecker):
    """An example that shows no output may have some."""

    def check_output(self, want, got, optionflags):
        want, got = (_MEASURED.sub("#", text) for text in (want, got))
        return not want or super().check_output(want, got, optionflags)


def _examples():
    finder, found = doctest.DocTestFinder(exclude_empty=True), {}
    for info in pkgutil.walk_packages(lacuna.__path__, "lacuna."):
        # The callbacks are for other libraries: test_callbacks has stand-ins of those.
        if info.name in ("lacuna.__main__", "lacuna.huggingface", "lacuna.lightning"):
            continue
        for test in finder.find(importlib.import_module(info.name), extraglobs={}):
            if test.examples:
                found.setdefault(test.name, test)
    return found


def _names():
    """Names that a reader of a docstring can use."""
    layers = {"conv1": nn.Conv2d(3, 16, 3), "relu": nn.ReLU(), "pool": nn.AdaptiveAvgPool2d(2), "flat": nn.Flatten()}
    model = nn.Sequential()
    model.features = nn.Sequential()
    for name, layer in layers.items():
        model.features.add_module(name, layer)
    model.head = nn.Linear(64, 10)
    images, labels = torch.randn(4, 3, 12, 12), torch.randint(10, (4,))
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), 0.01)
    return dict(lacuna=lacuna, torch=torch, model=model, images=images, labels=labels, loader=[(images, labels)] * 2,
                criterion=criterion, optimizer=optimizer)  # fmt: skip


class Docstrings(RecordingTest):
    def test_examples_run(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        examples = _examples()
        documented = {name.split(".")[-1] for name in examples}
        for name in ("capture", "convert", "converted", "machines", "parameters", "Profiler", "read_trace", "report", "simulate"):
            self.assertIn(name, documented, "has no example")
        for name, test in sorted(examples.items()):
            names = _names()
            model, images, labels = names["model"], names["images"], names["labels"]
            with lacuna.capture(model.features, "step.safetensors"):
                model.features(images).sum().backward()
            with contextlib.ExitStack() as stack:
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", lacuna.ProfilerWarning)
                if name.endswith(".savings"):
                    profiler = stack.enter_context(lacuna.Profiler(model, every=1))
                    names["criterion"](model(images), labels).backward()
                    profiler.step()
                    profiler.drain()
                    names["profiler"] = profiler
                with self.subTest(name):
                    said = []
                    test.globs = names
                    runner = doctest.DocTestRunner(
                        _Checker(), verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                    )
                    result = runner.run(test, out=said.append)
                    self.assertEqual(result.failed, 0, "".join(said))
                    self.assertGreater(result.attempted, 0)


if __name__ == "__main__":
    unittest.main()
