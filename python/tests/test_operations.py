"""The operations that a step ran, layer by layer, counted from the gradients that PyTorch computed."""

import itertools
import unittest

import torch
from support import RecordingTest
from test_simulate import MISSING
from torch import nn
from torch.utils.checkpoint import checkpoint

import lacuna

ALL = ["forward", "input_grad", "weight_grad"]


def operations(trace):
    """By layer, with the default of the format for those that note none."""
    default = [["forward", "weight_grad"], *[ALL] * (len(trace.layers) - 1)]
    return {layer.name: layer.info.get("operations", usual) for layer, usual in zip(trace.layers, default)}


class Lora(nn.Module):
    """A frozen layer with a trained one of low rank next to it."""

    def __init__(self, size):
        super().__init__()
        self.base = nn.Linear(size, size).requires_grad_(False)
        self.down, self.up = nn.Linear(size, 2, bias=False), nn.Linear(2, size, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.project = nn.Linear(size, 2 * size)

    def forward(self, x):
        q, k = self.project(x).chunk(2, -1)
        return (q @ k.transpose(1, 2)).softmax(-1) @ x


class Operations(RecordingTest):
    def test_of_a_plain_network_need_no_note(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2))
        trace = self.record(model, lambda: model(torch.randn(2, 3, 4, 4)).sum().backward())
        self.assertEqual(trace.metadata["version"], "1")
        self.assertEqual(operations(trace), {"0": ["forward", "weight_grad"], "3": ALL})

    def test_of_frozen_layers_and_adapters(self):
        model = nn.Sequential(Lora(6), nn.ReLU(), Lora(6), nn.Linear(6, 3))
        trace = self.record(model, lambda: model(torch.randn(5, 6)).square().sum().backward())
        self.assertEqual(
            operations(trace),
            {
                "0.base": ["forward"],
                "0.down": ["forward", "weight_grad"],
                "0.up": ALL,
                "2.base": ["forward", "input_grad"],
                "2.down": ALL,
                "2.up": ALL,
                "3": ALL,
            },
        )
        self.assertEqual((trace.metadata["version"], trace.left_out), ("3", []))
        if MISSING:
            return
        macs = {}
        for row in lacuna.simulate(self.path, "dense").to_dicts():
            macs[row["op"]] = macs.get(row["op"], 0) + row["macs_per_batch"]
        square, low, head = 5 * 6 * 6, 5 * 6 * 2, 5 * 6 * 3
        self.assertEqual(macs["forward"], 2 * square + 4 * low + head)
        self.assertEqual(macs["input_grad"], square + 3 * low + head)
        self.assertEqual(macs["weight_grad"], 4 * low + head)
        whole = lacuna.simulate(lacuna.read_trace(self.path), "dense").to_dicts()
        self.assertEqual(sum(row["macs_per_batch"] for row in whole), sum(macs.values()))

    def test_of_a_linear_probe_on_a_frozen_network(self):
        """Also the products of activations inside of it; one of data outside is not the network's."""
        trunk = nn.Sequential(nn.Conv1d(4, 4, 1), nn.Flatten(2)).requires_grad_(False)
        attention = Attention(4).requires_grad_(False)
        model = nn.ModuleDict({"trunk": trunk, "attention": attention, "head": nn.Linear(4, 2)})

        def step():
            x = torch.randn(3, 4, 5)
            x @ x.transpose(1, 2)
            x = model["attention"](model["trunk"](x).transpose(1, 2))
            model["head"](x.mean(1)).sum().backward()

        trace = self.record(model, step)
        expected = {
            "trunk.0": ["forward"],
            "attention.project": ["forward"],
            "attention.matmul": ["forward"],
            "attention.matmul#2": ["forward"],
            "head": ["forward", "weight_grad"],
        }
        self.assertEqual(operations(trace), expected)

    def test_of_a_second_layer_on_the_input(self):
        model = nn.ModuleDict({"left": nn.Linear(4, 3), "right": nn.Linear(4, 3), "head": nn.Linear(3, 2)})

        def step():
            x = torch.randn(5, 4)
            model["head"](model["left"](x) * model["right"](x)).sum().backward()

        stem = ["forward", "weight_grad"]
        self.assertEqual(operations(self.record(model, step)), {"left": stem, "right": stem, "head": ALL})

    def test_of_an_input_that_needs_a_gradient(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(16, 2))
        image = torch.randn(2, 3, 4, 4, requires_grad=True)
        trace = self.record(model, lambda: model(image).sum().backward())
        self.assertEqual(operations(trace), {"0": ALL, "2": ALL})

    def test_of_transposed_convolutions(self):
        """In a trace their forward is the input_grad of the convolution that they reverse."""
        model = nn.Sequential(nn.ConvTranspose2d(3, 4, 2), nn.ConvTranspose2d(4, 2, 2), nn.ConvTranspose2d(2, 2, 1))
        model[2].requires_grad_(False)
        trace = self.record(model, lambda: model(torch.randn(2, 3, 4, 4)).sum().backward())
        frozen = ["forward", "input_grad"]
        self.assertEqual(operations(trace), {"0": ["input_grad", "weight_grad"], "1": ALL, "2": frozen})

    def test_with_checkpoints(self):
        for reentrant in (True, False):
            model = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)])
            model[1].requires_grad_(False)

            def step():
                x = checkpoint(lambda y: model[1](y), model[0](torch.randn(3, 4)), use_reentrant=reentrant)
                model[2](x).sum().backward()

            found = operations(self.record(model, step))
            expected = {"0": ["forward", "weight_grad"], "1": ["forward", "input_grad"], "2": ALL}
            self.assertEqual(found, expected, reentrant)

    def test_of_recurrent_layers(self):
        model = nn.ModuleDict({"fc": nn.Linear(3, 3), "rnn": nn.GRU(3, 2, batch_first=True)})
        model["rnn"].requires_grad_(False)
        step = lambda: model["rnn"](model["fc"](torch.randn(2, 4, 3)))[0].sum().backward()  # noqa: E731
        found = operations(self.record(model, step))
        self.assertEqual(found["rnn.ih_l0"], ["forward", "input_grad"])
        self.assertEqual(found["rnn.hh_l0"], ["forward"])  # of the first step: its state is no output of a layer
        self.assertEqual(found["rnn.hh_l0#2"], ["forward", "input_grad"])

    def test_of_inference(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(2), Attention(4), nn.Linear(4, 2)).eval()
        x = torch.randn(2, 3, 4, 4)
        with torch.no_grad():
            trace = self.record(model, lambda: model(x), inference=True, values=True)
        self.assertEqual(set(map(tuple, operations(trace).values())), {("forward",)})
        self.assertEqual(trace.names, ["0", "3.project", "3.matmul", "3.matmul#2", "4"])
        self.assertEqual(set(trace["0"].values), {"A", "W"})
        self.assert_same(trace["0"].values["A"], x.permute(0, 2, 3, 1))
        with_gradients = self.record(model, lambda: model(x), inference=True)
        self.assertEqual(operations(with_gradients), operations(trace))
        if not MISSING:
            self.assertEqual({row["op"] for row in lacuna.simulate(self.path).to_dicts()}, {"forward"})
            with lacuna.capture(model, inference=True) as step:
                model(x)
            cycles = [lacuna.simulate(source).totals()[0]["cycles_per_batch"] for source in (step, self.path)]
            self.assertEqual(*cycles)

    def test_of_inference_with_attention(self):
        """PyTorch's layers of attention run as a whole without gradients, in a kernel that hides its products."""
        for make, inside in [
            (lambda: nn.MultiheadAttention(8, 2, batch_first=True), 4),
            (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 6),
            (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), 12),
        ]:
            model, x = make().eval(), torch.randn(2, 5, 8)
            inputs = [x, x, x] if isinstance(model, nn.MultiheadAttention) else [x]
            masks = [None] if len(inputs) == 3 else [None, torch.arange(5)[None] >= torch.tensor([[5], [3]])]
            for padding, frozen in itertools.product(masks, (False, True)):
                model.requires_grad_(not frozen)
                options = {} if padding is None else {"src_key_padding_mask": padding}
                step = lambda: model(*inputs, **options)  # noqa: B023, E731
                with torch.no_grad():
                    before = step()
                    found = operations(self.record(model, step, inference=True))
                    after = step()
                self.assertEqual(len(found), inside)
                self.assertEqual(set(map(tuple, found.values())), {("forward",)})
                before, after = (y[0] if isinstance(y, tuple) else y for y in (before, after))
                self.assert_same(after, before)
        model = nn.ModuleDict({"frozen": model, "head": nn.Linear(8, 2)})  # part of a training step
        step = lambda: model["head"](model["frozen"](x)).sum().backward()  # noqa: E731
        self.assertEqual(len(operations(self.record(model, step))), inside + 1)

    def test_without_a_backward_pass(self):
        model = nn.Sequential(nn.Linear(4, 3)).requires_grad_(False)
        with self.assertRaisesRegex(lacuna.CaptureError, "call backward"):
            self.record(model, lambda: model(torch.randn(2, 4)))


if __name__ == "__main__":
    unittest.main()
