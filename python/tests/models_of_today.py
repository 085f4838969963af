#!/usr/bin/env python3
"""Record a step of the models that people train today, and count its multiply-accumulates a second time.

  models_of_today.py                       all that the installed packages have
  models_of_today.py gpt2 swin --device cpu

Random weights, small inputs, no network. Needs transformers and torchvision for most models. The second count is
torch's (torch.utils.flop_counter from torch 2.3 on; before, the profiler, which misses transposed convolutions). Exits
with 1 if recorded and left out together are more than 1 % away from it, or a model fails. LACUNA_PROGRAM=PATH: it also
inspects each trace.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import lacuna  # noqa: E402
from support import recorded_macs  # noqa: E402


def tokens(device, count=1000, shape=(4, 64)):
    return torch.randint(0, count, shape, device=device)


def pictures(device, size, batch=4):
    return torch.randn(batch, 3, size, size, device=device)


def language(config_name, model_name, **options):
    """A model of transformers and a step of it that predicts its own input."""
    import transformers

    config = getattr(transformers, config_name)(vocab_size=1000, **options)
    model = getattr(transformers, model_name)(config)

    def step(device):
        ids = tokens(device)
        if model_name == "BertForSequenceClassification":
            return model(input_ids=ids, labels=torch.ones(4, dtype=torch.long, device=device)).loss
        return model(input_ids=ids, labels=ids).loss

    return model, step


def gpt2():
    return language("GPT2Config", "GPT2LMHeadModel", n_layer=4, n_head=4, n_embd=128, n_positions=128)


def bert():
    sizes = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
    return language("BertConfig", "BertForSequenceClassification", **sizes)


def llama():
    sizes = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2}
    return language("LlamaConfig", "LlamaForCausalLM", intermediate_size=352, **sizes)


def t5():
    sizes = {"d_model": 128, "d_kv": 32, "d_ff": 256, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
    return language("T5Config", "T5ForConditionalGeneration", **sizes)


def classifier(model, size):
    def step(device):
        return F.cross_entropy(model(pictures(device, size)), torch.arange(4, device=device))

    return model, step


def vit():
    import torchvision

    sizes = {"image_size": 64, "patch_size": 16, "num_layers": 4, "num_heads": 4, "hidden_dim": 128, "mlp_dim": 512}
    return classifier(torchvision.models.VisionTransformer(num_classes=10, **sizes), 64)


def swin():
    import torchvision

    return classifier(torchvision.models.swin_t(weights=None, num_classes=10), 112)


def convnext():
    import torchvision

    return classifier(torchvision.models.convnext_tiny(weights=None, num_classes=10), 64)


def faster_rcnn():
    import torchvision

    build = torchvision.models.detection.fasterrcnn_resnet50_fpn
    model = build(weights=None, weights_backbone=None, num_classes=5, min_size=128, max_size=160)

    def step(device):
        boxes = torch.tensor([[10.0, 10, 60, 60], [40, 30, 100, 90]], device=device)
        targets = [{"boxes": boxes, "labels": torch.tensor([1, 2], device=device)} for _ in range(2)]
        return sum(model(list(pictures(device, 128, 2)), targets).values())

    return model, step


class Residual(nn.Module):
    def __init__(self, c, k, time_size):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, c), nn.Conv2d(c, k, 3, padding=1)
        self.time = nn.Linear(time_size, k)
        self.norm2, self.conv2 = nn.GroupNorm(8, k), nn.Conv2d(k, k, 3, padding=1)
        self.short = nn.Conv2d(c, k, 1) if c != k else nn.Identity()

    def forward(self, x, when):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(when)[:, :, None, None]
        return self.short(x) + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    def __init__(self, c, heads=4):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.GroupNorm(8, c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

    def forward(self, x):
        n, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, 3, self.heads, -1, h * w).transpose(-2, -1).unbind(1)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            y = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v
        return x + self.out(y.transpose(-2, -1).reshape(n, c, h, w))


class UNet(nn.Module):
    """Predicts the noise of an image, as diffusion models do."""

    def __init__(self, c=32, time_size=64):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, time_size), nn.SiLU(), nn.Linear(time_size, time_size))
        self.start = nn.Conv2d(3, c, 3, padding=1)
        self.down1, self.shrink = Residual(c, c, time_size), nn.Conv2d(c, 2 * c, 3, 2, 1)
        self.down2, self.attend = Residual(2 * c, 2 * c, time_size), Attention(2 * c)
        self.grow = nn.ConvTranspose2d(2 * c, c, 4, 2, 1)
        self.up = Residual(2 * c, c, time_size)
        self.end = nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, x, when):
        angles = when[:, None] * torch.logspace(0, -3, 8, device=x.device)
        when = self.time(torch.cat((angles.sin(), angles.cos()), 1))
        first = self.down1(self.start(x), when)
        second = self.attend(self.down2(self.shrink(first), when))
        return self.end(self.up(torch.cat((first, self.grow(second)), 1), when))


def diffusion_unet():
    model = UNet()

    def step(device):
        images = pictures(device, 32)
        return F.mse_loss(model(images, torch.rand(4, device=device)), torch.randn_like(images))

    return model, step


MODELS = {
    one.__name__: one for one in (gpt2, bert, llama, t5, vit, swin, convnext, faster_rcnn, diffusion_unet)
}


def independent_count(step, device):
    """Multiply-accumulates of the forward pass by torch's own counter, or its profiler where it has none."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError:
        with torch.profiler.profile(with_flops=True) as profiler:
            step(device)
        products = ("aten::conv2d", "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
        return sum(entry.flops for entry in profiler.key_averages() if entry.key in products) // 2
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        step(device)
    return counter.get_total_flops() // 2


def try_model(name, device, folder):
    """One row of the table, and whether it is as it should be."""
    torch.manual_seed(1)
    model, step = MODELS[name]()
    model.to(device).train()
    path = os.path.join(folder, name + ".safetensors")
    torch.manual_seed(2)
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", lacuna.CaptureWarning)
        with lacuna.capture(model, path, metadata={"model": name}):
            step(device).backward()
    seconds = time.monotonic() - start
    trace = lacuna.read_trace(path)
    recorded, left_out = recorded_macs(trace), sum(part.get("macs", 0) for part in trace.left_out)
    torch.manual_seed(2)
    counted = independent_count(step, device)
    difference = (recorded + left_out) / counted - 1
    cells = [name, len(trace.layers), f"{recorded / 1e6:.2f}", f"{left_out / 1e6:.2f}"]
    cells += [f"{counted / 1e6:.2f}", f"{100 * difference:+.3f} %", f"{seconds:.1f} s"]
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    notes = [str(one.message) for one in found if issubclass(one.category, lacuna.CaptureWarning)]
    notes += [f"left out: {part}" for part in trace.left_out]
    program = os.environ.get("LACUNA_PROGRAM")
    if program:
        done = subprocess.run([program, "inspect", path], capture_output=True, text=True)
        if done.returncode:
            notes.append(done.stderr.strip())
            return notes, False
    return notes, not abs(difference) > 0.01


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)} (default: all)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    unknown = set(options.models) - set(MODELS)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    torch.backends.cuda.matmul.allow_tf32 = False
    print("| model | layers | recorded, M MACs | left out | second count | difference | time |")
    print("|---|---|---|---|---|---|---|")
    good, all_notes = True, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models or MODELS:
            try:
                all_notes[name], fine = try_model(name, options.device, folder)
            except ImportError as error:
                all_notes[name], fine = [f"not tried: {error}"], True
            except Exception:  # a table of the others is worth more than none
                all_notes[name], fine = [traceback.format_exc()], False
            good &= fine
    for name, notes in all_notes.items():
        for note in notes:
            print(f"{name}: {note}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
