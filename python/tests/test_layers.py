"""Every kind of layer: the recorded A, W and G are those of torch, and give its outputs and gradients."""

import torch
from torch import nn

from support import DEVICES, RecordingTest, forward_of, input_grad_of, weight_grad_of

CONVOLUTIONS = {
    "plain": (nn.Conv2d(3, 5, 3), (4, 3, 9, 8)),
    "stride and padding": (nn.Conv2d(9, 17, (3, 5), stride=(2, 1), padding=(1, 2)), (4, 9, 9, 8)),
    "dilation": (nn.Conv2d(8, 4, 3, padding=2, dilation=(2, 1)), (4, 8, 9, 8)),
    "groups": (nn.Conv2d(12, 8, 3, groups=4, bias=False), (4, 12, 7, 7)),
    "depthwise": (nn.Conv2d(6, 12, 3, padding=1, groups=6), (4, 6, 7, 7)),
    "rest of a stride": (nn.Conv2d(3, 4, 2, stride=3), (4, 3, 10, 9)),
    "valid": (nn.Conv2d(3, 4, 3, padding="valid"), (4, 3, 6, 6)),
    "same": (nn.Conv2d(3, 4, 3, padding="same", dilation=2), (4, 3, 9, 6)),
    "same, uneven": (nn.Conv2d(3, 4, (2, 4), padding="same"), (4, 3, 6, 7)),
    "reflect": (nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), (4, 3, 6, 7)),
    "circular, same, uneven": (nn.Conv2d(3, 4, 4, padding="same", padding_mode="circular"), (4, 3, 6, 7)),
    "replicate, stride": (nn.Conv2d(3, 4, 3, stride=2, padding=1, padding_mode="replicate"), (4, 3, 6, 7)),
    "one image": (nn.Conv2d(3, 4, 3), (3, 6, 7)),
    "1d": (nn.Conv1d(3, 4, 3, stride=2, padding=1), (4, 3, 11)),
    "1d, same, dilation": (nn.Conv1d(4, 6, 4, padding="same", dilation=3, groups=2), (4, 4, 11)),
    "1d, circular": (nn.Conv1d(3, 4, 5, padding=2, padding_mode="circular"), (4, 3, 11)),
    "1d, one signal": (nn.Conv1d(3, 4, 3), (3, 11)),
}
LINEARS = {
    "rows": (nn.Linear(7, 5), (4, 7), 4, 1),
    "no bias": (nn.Linear(7, 5, bias=False), (4, 7), 4, 1),
    "steps": (nn.Linear(7, 17), (4, 3, 7), 12, 3),
    "steps, no bias": (nn.Linear(7, 17, bias=False), (4, 3, 7), 12, 3),
    "four dimensions": (nn.Linear(9, 8), (4, 3, 2, 9), 24, 6),
    "one step": (nn.Linear(7, 5), (4, 1, 7), 4, 1),
    "one row": (nn.Linear(7, 5), (7,), 1, 1),
}


def channels_last(tensor, spatial):
    """torch's tensor of a convolution as a trace stores it."""
    batch = tensor if tensor.dim() == spatial + 2 else tensor.unsqueeze(0)
    return (batch.unsqueeze(2) if spatial == 1 else batch).permute(0, 2, 3, 1)


class Layers(RecordingTest):
    def step_of(self, layer, shape, device):
        """A step whose gradient is known exactly: G = factor where the output is positive."""
        layer = layer.to(device)
        layer.zero_grad()
        x = torch.randn(shape, device=device).relu().requires_grad_()
        factor = torch.randn_like(layer(x))

        def step():
            self.output = layer(x)
            (self.output.relu() * factor).sum().backward()

        return layer, x, factor, step

    def test_convolutions(self):
        for device in DEVICES:
            for text, (layer, shape) in CONVOLUTIONS.items():
                with self.subTest(text, device=device):
                    self.check_convolution(layer, shape, device)

    def check_convolution(self, layer, shape, device):
        spatial = 1 if isinstance(layer, nn.Conv1d) else 2
        layer, x, factor, step = self.step_of(layer, shape, device)
        trace = self.record(layer, step, values=True, samples=4)
        self.assertEqual(trace.names, [type(layer).__name__.lower()])
        recorded = trace.layers[0]
        weight = layer.weight.unsqueeze(2) if spatial == 1 else layer.weight
        self.assert_same(recorded.values["W"], weight.permute(0, 2, 3, 1), "W")
        gradient = channels_last(factor * (self.output > 0), spatial)
        self.assert_same(recorded.values["G"], gradient, "G")
        if layer.padding_mode == "zeros":
            a = recorded.values["A"]
            whole = channels_last(x, spatial)
            inside = a[:, : whole.shape[1], : whole.shape[2]]
            self.assert_same(inside, whole, "A")
            self.assertEqual(a.ne(0).sum(), whole.ne(0).sum().cpu(), "what 'same' adds to A is zero")
            back = input_grad_of(recorded)[:, : whole.shape[1], : whole.shape[2]]
            self.assert_close(back, channels_last(x.grad, spatial), text="input gradient")
        bias = 0 if layer.bias is None else layer.bias.detach().cpu()
        self.assert_close(forward_of(recorded) + bias, channels_last(self.output, spatial), text="output")
        weight_grad = weight_grad_of(recorded).reshape(layer.weight.shape)
        self.assert_close(weight_grad, layer.weight.grad, text="weight gradient")
        for role in "AWG":
            self.assert_same(recorded.masks[role], recorded.values[role] != 0, role + " mask")
            self.assertAlmostEqual(recorded.info["sparsity"][role], recorded.zeros(role), places=12)

    def test_linear(self):
        for device in DEVICES:
            for text, (layer, shape, rows, steps) in LINEARS.items():
                with self.subTest(text, device=device):
                    self.check_linear(layer, shape, rows, steps, device)

    def check_linear(self, layer, shape, rows, steps, device):
        layer, x, factor, step = self.step_of(layer, shape, device)
        trace = self.record(layer, step, values=True, samples=4)
        recorded = trace["linear"]
        self.assertEqual((recorded.info["batch"], recorded.info["steps"]), (rows, steps))
        self.assert_same(recorded.values["A"], x.reshape(rows, -1), "A")
        self.assert_same(recorded.values["W"], layer.weight, "W")
        self.assert_same(recorded.values["G"], (factor * (self.output > 0)).reshape(rows, -1), "G")
        self.assert_close(weight_grad_of(recorded), layer.weight.grad, text="weight gradient")
        self.assert_close(input_grad_of(recorded), x.grad.reshape(rows, -1), text="input gradient")
        for role in "AWG":
            self.assert_same(recorded.masks[role], recorded.values[role] != 0, role + " mask")

    def test_samples_of_a_batch(self):
        model = nn.ModuleDict({"conv": nn.Conv2d(2, 3, 3), "seq": nn.Linear(3, 4), "fc": nn.Linear(4, 5)})
        x = torch.randn(6, 2, 5, 5)

        def step():
            y = model["conv"](x).flatten(2).transpose(1, 2)
            model["fc"](model["seq"](y).mean(1)).square().sum().backward()

        trace = self.record(model, step, samples=2, values=True)
        self.assertEqual((trace.metadata["batch"], trace.metadata["samples"]), ("6", "2"))
        self.assertEqual(trace["conv"].info["batch"], 2)
        self.assert_same(trace["conv"].values["A"], x[:2].permute(0, 2, 3, 1))
        self.assertEqual((trace["seq"].info["batch"], trace["seq"].info["steps"]), (18, 9))
        self.assertEqual((trace["fc"].info["batch"], trace["fc"].info["steps"]), (6, 1))
        self.assert_close(weight_grad_of(trace["fc"]), model["fc"].weight.grad)

        trace = self.record(model, step, samples=100, linear_samples=3)
        self.assertEqual([layer.info["batch"] for layer in trace.layers], [6, 54, 3])
        self.assertEqual(trace.metadata["samples"], "6")

    def test_rows_folded_into_the_batch_are_steps(self):
        model = nn.Sequential(nn.Conv1d(3, 4, 3), nn.ReLU(), nn.Flatten(0, 1), nn.Linear(6, 2))
        trace = self.record(model, lambda: model(torch.randn(5, 3, 8)).sum().backward())
        self.assertEqual((trace["3"].info["batch"], trace["3"].info["steps"]), (8, 4))

    def test_a_first_dimension_that_is_not_the_batch_is_named(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        step = lambda: model[1](model[0](torch.randn(5, 3))[:3]).sum().backward()  # noqa: E731
        self.record_warned(model, step, r"the batch is 5.*1 \(3\)")
