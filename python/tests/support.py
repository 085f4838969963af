"""Helpers of the tests: record a step, read it back, and compute a layer's products from what was recorded."""

import os
import tempfile
import unittest
import warnings

import torch
import torch.nn.functional as F

import lacuna

# Sums on a GPU must be good to the tolerances of the tests.
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_tf32 = False

torch.backends.cudnn.deterministic = True

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
print("torch", torch.__version__, "on", " and ".join(DEVICES), flush=True)
# A GPU's library may take Winograd's way, which is less exact.
TOLERANCE = 1e-5 if len(DEVICES) == 1 else 1e-4


def channels_first(layer, role):
    """An operand of a convolution as torch has it."""
    return layer.values[role].float().permute(0, 3, 1, 2)


def forward_of(layer):
    """A*W from the recorded operands alone, channels last."""
    if layer.info["type"] != "conv2d":
        return layer.values["A"].float() @ layer.values["W"].float().transpose(-2, -1)
    info = layer.info
    result = F.conv2d(
        channels_first(layer, "A"),
        channels_first(layer, "W"),
        None,
        info["stride"],
        info["padding"],
        info["dilation"],
        info["groups"],
    )
    return result.permute(0, 2, 3, 1)


def weight_grad_of(layer):
    """A*G from the recorded operands alone, in torch's order [K, C, kh, kw] or [K, C]."""
    if layer.info["type"] != "conv2d":
        return layer.values["G"].float().transpose(-2, -1) @ layer.values["A"].float()
    info = layer.info
    w = channels_first(layer, "W")
    return torch.nn.grad.conv2d_weight(
        channels_first(layer, "A"),
        w.shape,
        channels_first(layer, "G"),
        info["stride"],
        info["padding"],
        info["dilation"],
        info["groups"],
    )


def input_grad_of(layer):
    """W*G from the recorded operands alone, channels last."""
    if layer.info["type"] != "conv2d":
        return layer.values["G"].float() @ layer.values["W"].float()
    info = layer.info
    result = torch.nn.grad.conv2d_input(
        channels_first(layer, "A").shape,
        channels_first(layer, "W"),
        channels_first(layer, "G"),
        info["stride"],
        info["padding"],
        info["dilation"],
        info["groups"],
    )
    return result.permute(0, 2, 3, 1)


def recorded_macs(trace):
    """Multiply-accumulates of the layers of a trace, scaled to its batch as the program does."""
    total = 0
    for layer in trace.layers:
        info = layer.info
        if info["type"] != "conv2d":
            macs = info["batch"] * info.get("rows", 1) * info["in_features"] * info["out_features"]
        else:
            taps = info["kernel"][0] * info["kernel"][1] * info["in_channels"] // info["groups"]
            macs = info["batch"] * info["output_hw"][0] * info["output_hw"][1] * info["out_channels"] * taps
        samples = info["batch"] / info.get("steps", 1)
        total += macs * int(trace.metadata["batch"]) / samples
    return total


def macs_of(trace):
    """Of the step: what is recorded and what is left out."""
    return recorded_macs(trace) + sum(part["macs"] for part in trace.left_out)


class RecordingTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(20)
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name
        self.path = os.path.join(self.folder, "step.safetensors")

    def record(self, model, step, **options):
        """Run step() under a capture that must not warn; the trace."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", lacuna.CaptureWarning)
            with lacuna.capture(model, self.path, **options):
                step()
        return lacuna.read_trace(self.path)

    def record_warned(self, model, step, pattern, **options):
        """The same, with a warning that matches `pattern`."""
        with self.assertWarnsRegex(lacuna.CaptureWarning, pattern):
            with lacuna.capture(model, self.path, **options):
                step()
        return lacuna.read_trace(self.path)

    def assert_close(self, actual, expected, tolerance=TOLERANCE, text=""):
        torch.testing.assert_close(
            actual.detach().float().cpu(),
            expected.detach().float().cpu(),
            rtol=tolerance,
            atol=tolerance,
            msg=lambda found: f"{text}: {found}",
        )

    def assert_same(self, actual, expected, text=""):
        self.assertEqual(list(actual.shape), list(expected.shape), text)
        self.assertTrue(torch.equal(actual.detach().cpu(), expected.detach().cpu()), text + ": differs")
