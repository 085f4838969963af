"""Whole networks: against a functional re-run, and nothing about the training changes."""

import copy
import os

import torch
import torch.nn.functional as F
from torch import nn

import lacuna
from support import DEVICES, RecordingTest


class Net(nn.Module):
    """In-place operations wherever a layer's output can have one."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 9, 3, padding=1)
        self.conv2 = nn.Conv2d(9, 8, 3, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.steps = nn.Linear(8, 12)
        self.fc = nn.Linear(12, 4)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.bn(self.conv2(x)))
        x = self.steps(x.flatten(2).transpose(1, 2).contiguous())
        x.relu_()
        return self.fc(F.dropout(x + 0.5, 0.25).mean(1)).mul_(2)


def by_hand(net, x, labels):
    """{name: (A, W, Y)} of a functional re-run of Net without in-place operations, and its loss."""
    layers = {}

    def keep(name, a, w, y):
        layers[name] = (a, w, y)
        return y

    y = keep("conv1", x, net.conv1.weight, F.conv2d(x, net.conv1.weight, net.conv1.bias, padding=1)).relu()
    y = keep("conv2", y, net.conv2.weight, F.conv2d(y, net.conv2.weight, stride=2))
    y = F.batch_norm(y, None, None, net.bn.weight, net.bn.bias, training=True).relu()
    a = y.flatten(2).transpose(1, 2).contiguous()
    y = keep("steps", a, net.steps.weight, F.linear(a, net.steps.weight, net.steps.bias)).relu() + 0.5
    a = F.dropout(y, 0.25).mean(1)
    y = keep("fc", a, net.fc.weight, F.linear(a, net.fc.weight, net.fc.bias)) * 2
    return layers, F.cross_entropy(y, labels)


class Networks(RecordingTest):
    def test_equals_a_functional_re_run(self):
        for device in DEVICES:
            for memory_format in (torch.contiguous_format, torch.channels_last):
                with self.subTest(device=device, memory_format=memory_format):
                    self.check_re_run(device, memory_format)

    def check_re_run(self, device, memory_format):
        net = Net().to(device).to(memory_format=memory_format)
        x = torch.randn(5, 3, 9, 9, device=device).contiguous(memory_format=memory_format)
        labels = torch.randint(0, 4, (5,), device=device)
        torch.manual_seed(3)
        trace = self.record(net, lambda: F.cross_entropy(net(x), labels).backward(), values=True, samples=3)
        torch.manual_seed(3)
        layers, loss = by_hand(net, x, labels)
        gradients = torch.autograd.grad(loss, [y for _, _, y in layers.values()])
        self.assertEqual(trace.names, list(layers))
        for (name, (a, w, _)), g in zip(layers.items(), gradients):
            recorded = trace[name]
            if a.dim() == 4:
                a, w, g = (t.permute(0, 2, 3, 1) for t in (a, w, g))
                a, g = a[:3], g[:3]
            elif a.dim() == 3:
                a, g = a[:3].flatten(0, 1), g[:3].flatten(0, 1)
            self.assert_same(recorded.values["W"], w, name + " W")
            self.assert_close(recorded.values["A"], a, text=name + " A")
            self.assert_close(recorded.values["G"], g, text=name + " G")
            self.assert_same(recorded.masks["A"], a != 0, name + " zeros of A")
            self.assert_same(recorded.masks["G"], g != 0, name + " zeros of G")
        self.assertGreater(trace["conv1"].zeros("G"), 0.3)
        self.assertGreater(trace["steps"].zeros("G"), 0.3)
        self.assertEqual(trace["conv2"].zeros("G"), 0)

    def test_changes_nothing(self):
        for device in DEVICES:
            with self.subTest(device=device):
                self.check_changes_nothing(device)

    def check_changes_nothing(self, device):
        torch.use_deterministic_algorithms(device == "cpu")
        self.addCleanup(torch.use_deterministic_algorithms, False)
        plain = Net().to(device)
        captured = copy.deepcopy(plain)
        before = {name: set(module.__dict__) for name, module in captured.named_modules()}
        x = torch.randn(5, 3, 9, 9, device=device)
        labels = torch.randint(0, 4, (5,), device=device)

        def train(net, record):
            torch.manual_seed(9)
            optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
            losses = []
            for _ in range(2):
                optimizer.zero_grad()
                if record:
                    with lacuna.capture(net, self.path, values=True):
                        loss = F.cross_entropy(net(x), labels)
                        loss.backward()
                else:
                    loss = F.cross_entropy(net(x), labels)
                    loss.backward()
                optimizer.step()
                losses.append(loss.item())
            return losses, torch.get_rng_state()

        losses, state = train(plain, False)
        recorded_losses, recorded_state = train(captured, True)
        self.assertEqual(losses, recorded_losses)
        self.assert_same(state, recorded_state, "random state")
        for (name, one), other in zip(plain.named_parameters(), captured.parameters()):
            self.assert_same(one, other, name)
            self.assert_same(one.grad, other.grad, name + " gradient")
        self.assertEqual(before, {name: set(module.__dict__) for name, module in captured.named_modules()})
        for module in captured.modules():
            self.assertFalse(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks)

    def test_a_graph_kept_after_the_block_is_free_of_it(self):
        net = Net()
        with lacuna.capture(net, self.path):
            loss = net(torch.randn(2, 3, 9, 9)).square().sum()
            loss.backward(retain_graph=True)
        with open(self.path, "rb") as file:
            first = file.read()
        os.remove(self.path)
        loss.backward()
        self.assertFalse(os.path.exists(self.path))
        self.assertTrue(first)

    def test_masks_are_those_of_the_values(self):
        net = Net()
        x = torch.randn(4, 3, 9, 9)
        x[:, :, 0, 0] = -0.0
        traces = []
        for values in (False, True):
            torch.manual_seed(1)
            traces.append(self.record(net, lambda: net(x).square().sum().backward(), values=values))
        masks, values = traces
        for one, other in zip(masks.layers, values.layers):
            self.assertFalse(one.values)
            for role in "AWG":
                self.assert_same(one.masks[role], other.values[role] != 0, f"{one.name} {role}")
        self.assertFalse(masks["conv1"].masks["A"][:, 0, 0].any(), "-0.0 is zero")

    def test_hooks_of_the_user_are_respected(self):
        layer = nn.Linear(4, 3)
        layer.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))
        layer.register_forward_hook(lambda module, inputs, output: output * 3)
        x = torch.randn(2, 4)
        trace = self.record(layer, lambda: layer(x).sum().backward(), values=True)
        self.assert_same(trace["linear"].values["A"], x * 2)
        self.assert_same(trace["linear"].values["G"], torch.full((2, 3), 3.0))

    def test_an_input_given_by_name(self):
        layer = nn.Linear(4, 3)
        x = torch.randn(2, 4)
        trace = self.record(layer, lambda: layer(input=x).sum().backward(), values=True)
        self.assert_same(trace["linear"].values["A"], x)

    def test_a_forward_that_was_replaced_stays_replaced(self):
        layer = nn.Linear(4, 3)
        inner = layer.forward
        layer.forward = lambda x: inner(x + 1)
        mine = layer.forward
        x = torch.randn(2, 4)
        trace = self.record(layer, lambda: layer(x).sum().backward(), values=True)
        self.assert_same(trace["linear"].values["A"], x + 1)
        self.assertIs(layer.forward, mine)
