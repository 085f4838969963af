"""Weights travel: three steps of `lacuna train` into PyTorch, and a PyTorch model into `lacuna train`.

EVERY_NETWORK=1 adds those that take a minute.
"""

import copy
import math
import os
import subprocess
import tempfile
import unittest

import torch
import torch.nn.functional as F
from torch import nn

import lacuna
from lacuna._trace.container import check_zstd

try:
    import torchvision
except ImportError:
    torchvision = None

PROGRAM = os.environ.get("LACUNA_PROGRAM")
BATCH = 4
CLASSES = 10
# Our name: torchvision's.
NETWORKS = {"resnet18": "resnet18", "squeezenet": "squeezenet1_1"}
if os.environ.get("EVERY_NETWORK"):
    NETWORKS.update({"resnet34": "resnet34", "resnet50": "resnet50", "densenet121": "densenet121"})
    NETWORKS.update({"alexnet": "alexnet", "vgg16": "vgg16"})
SIZE = {"alexnet": 224, "vgg16": 224}  # pixels; torchvision stretches smaller images before their linear layers


def train(out, network, *arguments):
    """Run `lacuna train` with a network shaped as torchvision has it."""
    parameter = "stem=imagenet" if "net1" in network or "resnet" in network else "dropout=0"
    fixed = [] if network.endswith(".yaml") else ["--set", parameter]
    command = [PROGRAM, "train", "--model", network, *fixed, "--size", str(SIZE.get(network, 64))]
    command += ["--batch", str(BATCH), "--train-size", "8", "--test-size", "4", "--warmup", "0", "--threads", "1"]
    command += ["--out", out, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stdout}")


def first_step(folder, network, weights):
    """A, W and G of every layer in the first step that `lacuna train` takes from `weights`."""
    out = os.path.join(folder, "first")
    train(out, network, "--init", weights, "--steps", "1", "--record", "1", "--values", "--samples", str(BATCH))
    return lacuna.read_trace(os.path.join(out, "trace_000000.safetensors.zst"))


def model_of(network):
    torch.manual_seed(1)
    return prepared(getattr(torchvision.models, NETWORKS[network])(num_classes=CLASSES))


def prepared(model):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(module, nn.ReLU):
            module.inplace = False  # else the output of the layer before is gone
    return model.train()


def run_step(model, images, labels):
    """Inputs and, where there are labels, gradients of the outputs of every layer."""
    inputs, outputs, handles = {}, {}, []

    def hook(name):
        def keep(module, arguments, output):
            inputs[name] = arguments[0].detach()
            output.retain_grad()
            outputs[name] = output

        return keep

    for name, module in model.named_modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            handles.append(module.register_forward_hook(hook(name)))
    result = model(images)
    for handle in handles:
        handle.remove()
    if labels is not None:
        F.cross_entropy(result, labels).backward()
    return {"A": inputs, "G": {name: output.grad for name, output in outputs.items()}}


def distance(values, reference):
    return ((values - reference).norm() / reference.norm().clamp_min(1e-30)).item()


@unittest.skipUnless(PROGRAM, "LACUNA_PROGRAM is not set")
@unittest.skipUnless(torchvision, "torchvision is not installed (Debian: python3-torchvision)")
class Travel(unittest.TestCase):
    def setUp(self):
        try:
            check_zstd()  # of the traces that `lacuna train` records
        except lacuna.TraceError as error:
            self.skipTest(str(error))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check_same(self, network, model, trace):
        """The recorded batch through `model` gives the recorded activations and gradients of every layer.

        Batch norm over four images magnifies rounding from layer to layer, a hundred times in ResNet-50: the measure is
        float64, and ours must be about as near to it as PyTorch's float32 is. And a value within rounding of zero may
        pass a ReLU here and not there: one of 2,048 gradients in a layer of DenseNet-121, or 2 % of their norm.
        Gradients may differ by some such.
        """
        layers = {layer.name: layer for layer in trace.layers}
        images = trace.layers[0].values["A"].permute(0, 3, 1, 2)
        # Softmax minus one at the label alone is negative. SqueezeNet's last layer is not linear: no labels.
        labels = trace.layers[-1].values["G"].argmin(1) if network != "squeezenet" else None
        exact = run_step(copy.deepcopy(model).double(), images.double(), labels)
        theirs = run_step(model, images, labels)
        gates = math.sqrt(4 / min(values.numel() for values in exact["A"].values()))
        for role in ("A", "G") if labels is not None else ("A",):
            self.assertEqual(set(exact[role]), set(layers))
            for name, reference in exact[role].items():
                ours = self.as_torch(layers[name], role)
                self.assertEqual(ours.shape, reference.shape)
                limit = max(3 * distance(theirs[role][name], reference), 1e-5 if role == "A" else gates)
                self.assertLess(distance(ours, reference), limit, f"{network} {name} {role}")
                self.assertLess(limit, 0.2, f"{network} {name} {role}: rounding leaves nothing to compare")

    def as_torch(self, layer, role):
        values = layer.values[role]
        return values.permute(0, 3, 1, 2) if values.dim() == 4 else values

    def test_three_steps_here_give_the_same_outputs_in_torch(self):
        out = os.path.join(self.folder, "run")
        train(out, "resnet18", "--steps", "3")
        checkpoint = os.path.join(out, "checkpoint.safetensors")
        model = model_of("resnet18")
        before = model.fc.weight.detach().clone()
        model.load_state_dict(lacuna.load_weights(checkpoint))
        self.assertFalse(torch.equal(before, model.fc.weight))
        self.check_same("resnet18", model, first_step(self.folder, "resnet18", checkpoint))

    def test_a_torch_model_gives_the_same_outputs_here(self):
        for network in NETWORKS:
            with self.subTest(network), tempfile.TemporaryDirectory(dir=self.folder) as folder:
                model = model_of(network)
                weights = os.path.join(folder, "weights.safetensors")
                lacuna.save_weights(model, weights)
                self.check_same(network, model, first_step(folder, network, weights))


class Functional(nn.Module):
    """Written with functions and methods: a sum, concatenations of two and of three, one inside the other."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 5, stride=2, padding=2)
        self.wide, self.narrow = nn.Conv2d(16, 16, 3, padding="same"), nn.Conv2d(16, 16, 1, bias=False)
        self.grouped = nn.Conv2d(32, 32, (3, 1), padding=(1, 0), groups=2)
        self.norm = nn.BatchNorm2d(48)
        self.hidden, self.last = nn.Linear(48 * 4, 32), nn.Linear(32, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.stem(x)), 3, stride=2, padding=1)
        inner = torch.cat([x, F.relu(self.wide(x))], 1)
        inner = self.grouped(inner) + torch.cat([self.narrow(x), x], 1)
        x = torch.cat((x, inner.relu()), dim=1)
        x = self.norm(x)
        x += x.relu()
        x = F.adaptive_avg_pool2d(F.avg_pool2d(F.dropout(x, 0.0, self.training), 2), (2, 2))
        x = F.relu(self.hidden(x.contiguous().view(x.size(0), -1)))
        return self.last(x)


def described():
    """Networks of a user, small ones."""
    models = torchvision.models
    yield "functional", Functional()
    yield "densenet", models.DenseNet(8, (3, 2), 16, num_classes=CLASSES)
    yield "bottlenecks", models.ResNet(models.resnet.Bottleneck, [1, 2, 1, 1], num_classes=CLASSES, width_per_group=16)
    yield "sequential", nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AvgPool2d(4, ceil_mode=True), nn.Flatten(), nn.Dropout(0.0),
        nn.Linear(16 * 256, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Identity(), nn.Linear(32, CLASSES, bias=False),
    )  # fmt: skip


class Described(Travel):
    """lacuna.save_network: a model of PyTorch becomes one of `lacuna train`, with the same values in every layer."""

    test_three_steps_here_give_the_same_outputs_in_torch = None
    test_a_torch_model_gives_the_same_outputs_here = None

    def test_both_compute_the_same(self):
        for name, model in described():
            with self.subTest(name), tempfile.TemporaryDirectory(dir=self.folder) as folder:
                torch.manual_seed(2)
                model = prepared(model).train()
                network, weights = os.path.join(folder, f"{name}.yaml"), os.path.join(folder, "weights.safetensors")
                lacuna.save_network(model, network, (3, 64, 64))
                lacuna.save_weights(model, weights)
                self.check_same(name, model, first_step(folder, network, weights))

    def test_weights_come_back(self):
        for name, model in described():
            with self.subTest(name), tempfile.TemporaryDirectory(dir=self.folder) as folder:
                network, run = os.path.join(folder, f"{name}.yaml"), os.path.join(folder, "run")
                lacuna.save_network(model, network, (3, 64, 64))
                train(run, network, "--steps", "2", "--kernels", "dense")
                before = copy.deepcopy(model.state_dict())
                learnt = lacuna.load_weights(os.path.join(run, "checkpoint.safetensors"))
                model.load_state_dict(learnt)
                self.assertFalse(any(torch.equal(v, learnt[k]) for k, v in before.items() if k.endswith("weight")))


if __name__ == "__main__":
    unittest.main()
