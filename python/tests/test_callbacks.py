"""Callbacks for Hugging Face's Trainer and Lightning's, in stand-ins with the interfaces of those loops."""

import importlib
import pickle
import sys
import types
import unittest
import unittest.mock

import torch
from torch import nn

import lacuna
from test_simulate import MISSING

EVENTS = ["init_end", "train_begin", "epoch_begin", "step_begin", "substep_end", "step_end", "epoch_end", "train_end"]


class TrainerCallback:
    """As in transformers: every event has a method."""


for event in EVENTS:
    setattr(TrainerCallback, f"on_{event}", lambda self, args, state, control, **kwargs: None)


class LightningCallback:
    """As in Lightning: the hooks that the loop below calls."""

    def on_fit_start(self, trainer, pl_module):
        pass

    def on_train_start(self, trainer, pl_module):
        pass

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        pass

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pass

    def on_train_end(self, trainer, pl_module):
        pass

    def on_exception(self, trainer, pl_module, exception):
        pass


def stand_in(name, **members):
    """Modules of the dotted name; the last one has the members."""
    made, parts = {}, name.split(".")
    for end in range(1, len(parts) + 1):
        made[".".join(parts[:end])] = types.ModuleType(".".join(parts[:end]))
    vars(made[name]).update(members)
    return made


def network():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


def batch_loss(model):
    return model(torch.randn(8, 16)).square().mean()


class HuggingFaceTrainer:
    """Steps of one optimizer step, each of `accumulate` batches."""

    def __init__(self, model, callbacks, accumulate=1):
        self.model, self.callbacks, self.accumulate = model, callbacks, accumulate
        self.optimizer = torch.optim.SGD(model.parameters(), 0.01)
        self.call("init_end")

    def call(self, event):
        for callback in self.callbacks:
            getattr(callback, f"on_{event}")(None, None, None, model=self.model, optimizer=self.optimizer)

    def train(self, steps):
        self.call("train_begin")
        self.call("epoch_begin")
        for _ in range(steps):
            self.call("step_begin")
            for batch in range(self.accumulate):
                batch_loss(self.model).backward()
                if batch + 1 < self.accumulate:
                    self.call("substep_end")
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.call("step_end")
        self.call("epoch_end")
        self.call("train_end")


class LightningTrainer:
    """Batches, of which every `accumulate`-th ends with a step of the optimizer."""

    def __init__(self, callbacks, accumulate=1):
        self.callbacks, self.accumulate, self.global_step = callbacks, accumulate, 0

    def call(self, hook, *arguments):
        for callback in self.callbacks:
            getattr(callback, hook)(self, *arguments)

    def fit(self, model, batches, fails_at=-1):
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        self.call("on_fit_start", model)
        self.call("on_train_start", model)
        try:
            for index in range(batches):
                if index == fails_at:
                    raise RuntimeError("out of data")
                self.call("on_train_batch_start", model, None, index)
                loss = batch_loss(model)
                loss.backward()
                if (index + 1) % self.accumulate == 0:
                    optimizer.step()
                    optimizer.zero_grad()
                    self.global_step += 1
                self.call("on_train_batch_end", model, loss, None, index)
        except RuntimeError as error:
            self.call("on_exception", model, error)
            raise
        self.call("on_train_end", model)


@unittest.skipIf(MISSING, MISSING)
class Callbacks(unittest.TestCase):
    def load(self, name, **stand_ins):
        for module in list(sys.modules):
            if module in ("lacuna.huggingface", "lacuna.lightning"):
                del sys.modules[module]
        modules = {}
        for dotted, members in stand_ins.items():
            modules.update(stand_in(dotted.replace("__", "."), **members))
        patch = unittest.mock.patch.dict(sys.modules, modules)
        patch.start()
        self.addCleanup(patch.stop)
        return importlib.import_module(name).ProfilerCallback

    def hugging_face(self):
        return self.load("lacuna.huggingface", transformers={"TrainerCallback": TrainerCallback})

    def lightning(self):
        return self.load("lacuna.lightning", lightning__pytorch__callbacks={"Callback": LightningCallback})

    def steps(self, callback):
        return [measurement.step for measurement in callback.profiler.measurements]

    def test_hugging_face(self):
        for accumulate in (1, 3):
            callback = self.hugging_face()("dense", every=2, samples=1, waiting=9)
            HuggingFaceTrainer(network(), [callback], accumulate).train(5)
            self.assertEqual(self.steps(callback), [0, 2, 4])

    def test_each_training_has_a_profiler(self):
        callback = self.hugging_face()("dense", every=1, samples=1, waiting=9)
        trainer = HuggingFaceTrainer(network(), [callback])
        trainer.train(2)
        first = callback.profiler
        trainer.train(1)
        self.assertIsNot(callback.profiler, first)
        self.assertEqual(self.steps(callback), [0])
        self.assertEqual(len(first.measurements), 2)

    def test_lightning(self):
        for accumulate in (1, 4):
            callback = self.lightning()("dense", every=2, samples=1, waiting=9)
            LightningTrainer([callback], accumulate).fit(network(), 5 * accumulate)
            self.assertEqual(self.steps(callback), [0, 2, 4])

    def test_lightning_under_its_other_name(self):
        kind = self.load(
            "lacuna.lightning", lightning={}, pytorch_lightning__callbacks={"Callback": LightningCallback}
        )
        callback = kind("dense", every=1, samples=1)
        LightningTrainer([callback]).fit(network(), 1)
        self.assertEqual(self.steps(callback), [0])

    def test_an_exception_ends_the_profiler(self):
        callback = self.lightning()("dense", every=1, samples=1, waiting=9)
        model = network()
        with self.assertRaisesRegex(RuntimeError, "out of data"):
            LightningTrainer([callback]).fit(model, 5, fails_at=2)
        with self.assertRaises(lacuna.ProfilerError):
            callback.profiler.step()
        self.assertFalse(any(module._forward_pre_hooks for module in model.modules()))

    def test_wrong_options_are_errors_at_once(self):
        kind = self.hugging_face()
        with self.assertRaisesRegex(TypeError, "evry"):
            kind("dense", evry=3)
        with self.assertRaisesRegex(TypeError, "optimizer"):
            kind("dense", optimizer=None)

    def test_can_be_pickled(self):
        kind = self.hugging_face()
        callback = kind("dense", every=1, samples=1)
        HuggingFaceTrainer(network(), [callback]).train(1)
        copied = pickle.loads(pickle.dumps(callback))
        self.assertIsNone(copied.profiler)
        HuggingFaceTrainer(network(), [copied]).train(1)
        self.assertEqual(self.steps(copied), [0])


if __name__ == "__main__":
    unittest.main()
