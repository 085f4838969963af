"""The file: whole or not at all, compressed, read back, accepted by the program; arguments that are wrong."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import unittest
from unittest import mock

import torch
from torch import nn

import lacuna
from lacuna._trace import container
from support import DEVICES, RecordingTest

PROGRAM = os.environ.get("LACUNA_PROGRAM", "")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def small_net():
    return nn.Sequential(
        nn.Conv2d(3, 9, 3, padding="same", dilation=2),
        nn.ReLU(inplace=True),
        nn.Conv2d(9, 12, (2, 3), stride=(2, 1), padding=(1, 0), groups=3, padding_mode="reflect"),
        nn.ReLU(inplace=True),
        nn.Conv2d(12, 4, 2, padding="same"),
        nn.ReLU(inplace=True),
        nn.Flatten(2),
        nn.Conv1d(4, 5, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Linear(24, 6),
        nn.Flatten(),
        nn.Linear(30, 2),
    )


def train(model, device="cpu"):
    model(torch.randn(4, 3, 7, 8, device=device)).square().sum().backward()


class Files(RecordingTest):
    def setUp(self):
        super().setUp()
        self.model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))

    def step(self):
        self.model(torch.randn(3, 4)).sum().backward()

    def left_behind(self):
        return sorted(os.listdir(self.folder))

    def test_an_exception_leaves_no_file(self):
        for error in (ValueError, KeyboardInterrupt):
            with self.subTest(error), self.assertRaises(error):
                with lacuna.capture(self.model, self.path):
                    self.step()
                    raise error
        self.assertEqual(self.left_behind(), [])
        self.assertNotIn("forward", self.model[0].__dict__)

    def test_a_failure_to_write_leaves_the_old_file(self):
        self.record(self.model, self.step)
        with open(self.path, "rb") as file:
            before = file.read()
        with mock.patch("os.replace", side_effect=OSError("no space")), self.assertRaises(OSError):
            with lacuna.capture(self.model, self.path):
                self.step()
        self.assertEqual(self.left_behind(), ["step.safetensors"])
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_a_decorator_records_the_first_call(self):
        @lacuna.capture(self.model, self.path)
        def step(rows):
            """A step."""
            self.model(torch.randn(rows, 4)).sum().backward()
            return rows

        self.assertEqual((step(3), step.__doc__, step.__name__), (3, "A step.", "step"))
        self.assertEqual(lacuna.read_trace(self.path).metadata["batch"], "3")
        os.remove(self.path)
        self.assertEqual(step(5), 5)
        self.assertEqual(self.left_behind(), [])

    def test_what_a_killed_capture_has_left_is_removed_and_no_link_is_followed(self):
        process = subprocess.Popen(["true"])
        process.wait()
        left = f"{self.path}.partial-{process.pid}-0123456789abcdef"
        victim = os.path.join(self.folder, "victim")
        foreseen = os.path.join(self.folder, f".step.safetensors.{os.getpid()}.tmp")  # as version 0.1 named it
        for name in (left, victim):
            with open(name, "w", encoding="ascii") as file:
                file.write("precious")
        os.symlink("victim", foreseen)
        self.record(self.model, self.step)
        self.assertEqual(self.left_behind(), [os.path.basename(foreseen), "step.safetensors", "victim"])
        with open(victim, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_no_backward_is_an_error(self):
        with self.assertRaisesRegex(lacuna.CaptureError, "call backward\\(\\) inside the block"):
            with lacuna.capture(self.model, self.path):
                self.model(torch.randn(3, 4))
        with self.assertRaisesRegex(lacuna.CaptureError, "no layer ran where it could be seen"):
            with lacuna.capture(self.model, self.path):
                pass
        self.assertEqual(self.left_behind(), [])

    def test_wrong_arguments(self):
        cases = (
            ({"samples": 0}, "samples is 0"),
            ({"samples": 2.0}, "samples is 2.0"),
            ({"linear_samples": 0}, "linear_samples is 0"),
            ({"dtype": "f16"}, "dtype is 'f16'"),
            ({"metadata": {"epochs": 3}}, "unknown metadata 'epochs'.*epoch"),
            ({"metadata": {"progress": 30}}, "'progress' is 30"),
            ({"metadata": {"batch": 2.5}}, "'batch' is 2.5, not an integer"),
            ({"metadata": {"loss": float("nan")}}, "'loss' is nan"),
            ({"metadata": {"accuracy": "good"}}, "'accuracy' is 'good'"),
            ({"path": os.path.join(self.folder, "no", "t.safetensors")}, "folder does not exist"),
            ({"path": self.folder}, "is a folder"),
            ({"model": nn.ReLU()}, "no weights to multiply with"),
            ({"model": lambda x: x}, "not a torch.nn.Module"),
        )
        for options, message in cases:
            with self.subTest(message), self.assertRaisesRegex(lacuna.CaptureError, message):
                lacuna.capture(**{"model": self.model, "path": self.path, **options})
        used = lacuna.capture(self.model, self.path)
        with used:
            self.step()
        with self.assertRaisesRegex(lacuna.CaptureError, "already used"), used:
            pass

    def test_metadata(self):
        with lacuna.capture(self.model, self.path, metadata={"dataset": "noise", "epoch": 3, "progress": 0.25}) as step:
            self.step()
            step.metadata["loss"] = torch.tensor(0.5)
            step.metadata["accuracy"] = 1
            step.metadata["batch"] = 128
        self.assertEqual(step.layers, ["0", "2"])
        expected = {
            "format": "training-trace",
            "version": "1",
            "model": "Sequential",
            "dataset": "noise",
            "epoch": "3.0",
            "progress": "0.25",
            "batch": "128",
            "samples": "2",
            "loss": "0.5",
            "accuracy": "1.0",
        }
        self.assertEqual(lacuna.read_trace(self.path).metadata, expected)

    def test_the_first_channel_is_the_lowest_bit(self):
        layer = nn.Linear(10, 1)
        x = torch.tensor([[1.0, 0, 2, 0, 0, 0, 0, 3, 0, 4], [0, 0, 0, 0, 0, 0, 0, 0, 5, 0]])
        self.record(layer, lambda: layer(x).sum().backward())
        tensors, _ = container.read_container(self.path)
        self.assertEqual(tensors["linear/A.mask"].tolist(), [[0b10000101, 0b10], [0, 0b01]])

    def test_a_tensor_without_zeros_takes_no_bytes(self):
        self.record(self.model, self.step)
        tensors, _ = container.read_container(self.path)
        self.assertNotIn("0/W.mask", tensors)
        self.assertIn("2/A.mask", tensors)

    def test_compressed(self):
        path = self.path + ".zst"
        torch.manual_seed(1)
        plain = self.record(self.model, self.step, values=True)
        ways = []
        if shutil.which("zstd"):
            ways.append("program")
        if container._zstd_module() is not None:
            ways.append("module")
        if not ways:
            self.skipTest("no zstd here")
        for way in ways:
            with self.subTest(way):
                hide = mock.patch.object(container, "_zstd_module", return_value=None)
                with hide if way == "program" else mock.patch("shutil.which", return_value=None):
                    torch.manual_seed(1)
                    with lacuna.capture(self.model, path, values=True):
                        self.step()
                    trace = lacuna.read_trace(path)
                    with open(path, "rb") as file:
                        data = file.read()
                    self.assertEqual(data[:4], b"\x28\xb5\x2f\xfd")
                    for layer in plain.layers:
                        self.assert_same(trace[layer.name].values["G"], layer.values["G"])
                    with open(path, "wb") as file:
                        file.write(data[:-9])
                    with self.assertRaisesRegex(lacuna.TraceError, "damaged|not a safetensors"):
                        lacuna.read_trace(path)

    def test_compression_that_is_not_there(self):
        no_module = mock.patch.object(container, "_zstd_module", return_value=None)
        with no_module, mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(lacuna.TraceError, "zstandard.*or the program 'zstd'"):
                lacuna.capture(self.model, self.path + ".zst")

    def test_a_compressor_that_fails_leaves_no_file(self):
        fake = os.path.join(self.folder, "zstd")
        with open(fake, "w") as file:
            file.write("#!/bin/sh\nexit 3\n")
        os.chmod(fake, 0o755)
        hide = mock.patch.object(container, "_zstd_module", return_value=None)
        with hide, mock.patch.dict(os.environ, {"PATH": self.folder + ":/bin:/usr/bin"}):
            with self.assertRaisesRegex(lacuna.TraceError, "status 3"):
                with lacuna.capture(self.model, self.path + ".zst", values=True):
                    self.step()
        self.assertEqual(self.left_behind(), ["zstd"])

    def test_a_trace_recorded_elsewhere(self):
        if not shutil.which("zstd") and container._zstd_module() is None:
            self.skipTest("no zstd here")
        trace = lacuna.read_trace(os.path.join(ROOT, "data", "squeezenet_p100.safetensors.zst"))
        self.assertEqual(len(trace.layers), 26)
        for layer in trace.layers:
            for role in "AWG":
                self.assertAlmostEqual(layer.zeros(role), layer.info["sparsity"][role], places=5)

    def test_damaged_files(self):
        self.record(self.model, self.step, values=True)
        with open(self.path, "rb") as file:
            good = file.read()
        length = int.from_bytes(good[:8], "little")
        header = json.loads(good[8 : 8 + length])

        def with_header(change):
            changed = json.loads(json.dumps(header))
            change(changed)
            text = json.dumps(changed).encode()
            return len(text).to_bytes(8, "little") + text + good[8 + length :]

        bad = {
            "empty": b"",
            "cut in the length": good[:5],
            "cut in the header": good[:40],
            "cut in the data": good[:-1],
            "not JSON": good[:8] + b"x" * length + good[8 + length :],
            "offsets outside": with_header(lambda h: h["0/A"].update(data_offsets=[0, 1 << 40])),
            "shape and bytes differ": with_header(lambda h: h["0/A"].update(shape=[1])),
            "no list of layers": with_header(lambda h: h["__metadata__"].pop("layers")),
            "another format": with_header(lambda h: h["__metadata__"].update(format="x")),
            "shape of another layer": with_header(lambda h: h["0/A"].update(shape=[4, 3])),
        }
        for text, data in bad.items():
            with open(self.path, "wb") as file:
                file.write(data)
            with self.subTest(text), self.assertRaises(lacuna.TraceError):
                lacuna.read_trace(self.path)

    def test_checksum(self):
        with lacuna.capture(self.model, self.path, values=True):
            self.step()
        with open(self.path, "rb") as file:
            good = file.read()
        start = 8 + int.from_bytes(good[:8], "little")
        self.assertIn(b'"checksum":"crc32:', good[:start])
        lacuna.read_trace(self.path)
        for at in (good.index(b'"version":"1"') + 11, start, len(good) - 1):
            with open(self.path, "wb") as file:
                file.write(good[:at] + bytes([good[at] ^ 2]) + good[at + 1 :])
            with self.subTest(at=at), self.assertRaisesRegex(lacuna.TraceError, "checksum"):
                lacuna.read_trace(self.path)

    def test_what_the_program_refuses_is_refused(self):
        with lacuna.capture(self.model, self.path):
            self.step()
        with open(self.path, "rb") as file:
            good = file.read()
        length = int.from_bytes(good[:8], "little")
        header = json.loads(good[8 : 8 + length])
        del header["__metadata__"]["checksum"]
        layers = json.loads(header["__metadata__"]["layers"])
        changes = {
            "more groups than channels": {"batch": 1 << 40},
            "not whole samples": {"steps": 2},
            "an unknown operation": {"operations": ["backwards"]},
            "other zeros": {"sparsity": {"A": 1}},
        }
        for text, change in changes.items():
            header["__metadata__"]["layers"] = json.dumps([{**layers[0], **change}, *layers[1:]])
            changed = json.dumps(header).encode()
            with open(self.path, "wb") as file:
                file.write(len(changed).to_bytes(8, "little") + changed + good[8 + length :])
            with self.subTest(text), self.assertRaises(lacuna.TraceError):
                lacuna.read_trace(self.path)

    def test_no_pipe_is_waited_for(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for path in (pipe, "/dev/zero", "/dev/null", "/proc/self/maps", self.folder + "\0"):
            with self.subTest(path), self.assertRaises(lacuna.TraceError):
                lacuna.read_trace(path)


@unittest.skipUnless(PROGRAM, "LACUNA_PROGRAM is not set")
class Program(RecordingTest):
    def run_program(self, *arguments):
        result = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def inspected(self, path):
        return json.loads(self.run_program("inspect", path, "--json", "-"))["traces"][0]["layers"]

    def simulated(self, path):
        found = json.loads(self.run_program("simulate", path, "--arch", "tensordash", "--json", "-"))
        return found["runs"][0]["layers"]

    def test_it_reads_and_simulates_what_was_recorded(self):
        suffixes = ["", ".zst"] if shutil.which("zstd") or container._zstd_module() else [""]
        for device in DEVICES:
            for options in ({}, {"values": True}, {"values": True, "dtype": "bf16"}):
                for suffix in suffixes:
                    with self.subTest(device=device, suffix=suffix, **options):
                        self.check(device, suffix, options)

    def check(self, device, suffix, options):
        model = small_net().to(device)
        path = self.path + suffix
        with lacuna.capture(model, path, metadata={"dataset": "noise", "loss": 0.5, "progress": 1}, **options):
            train(model, device)
        trace = lacuna.read_trace(path)
        for result in (self.inspected(path), self.simulated(path)):
            self.assertEqual([layer["name"] for layer in result], trace.names)

    def test_it_counts_the_same_zeros(self):
        model = small_net()
        with lacuna.capture(model, self.path):
            train(model)
        trace = lacuna.read_trace(self.path)
        layers = self.inspected(self.path)
        self.assertEqual([layer["name"] for layer in layers], trace.names)
        for layer in layers:
            for role in "AWG":
                self.assertAlmostEqual(layer["zeros"][role], trace[layer["name"]].zeros(role), places=9)


class Fixture(RecordingTest):
    """tests/data/torch, which the training engine is compared with, is what this torch computes as well."""

    def test_it_is_what_torch_computes(self):
        sys.path.insert(0, os.path.join(ROOT, "tests", "torch"))
        self.addCleanup(sys.path.pop, 0)
        import make_fixture

        for name, make in (("vgg", make_fixture.Vgg), ("resnet", make_fixture.Resnet), ("concat", make_fixture.Concat)):
            with self.subTest(name):
                self.check(name, make(), make_fixture)

    def check(self, name, model, fixture):
        base = os.path.join(ROOT, "tests", "data", "torch", name)
        tensors, _ = container.read_container(base + ".safetensors")
        expected = lacuna.read_trace(base + ".trace.safetensors")
        part = lambda prefix: {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}  # noqa: E731
        model.load_state_dict(part("initial/"))
        optimizer = torch.optim.SGD(
            model.parameters(), fixture.LEARNING_RATE, momentum=fixture.MOMENTUM, weight_decay=fixture.WEIGHT_DECAY
        )
        for step in range(fixture.STEPS):
            optimizer.zero_grad()
            with lacuna.capture(model, self.path, samples=4, values=True):
                loss = nn.functional.cross_entropy(model(tensors["batch/images"]), tensors["batch/labels"])
                loss.backward()
            if step == 0:
                trace = lacuna.read_trace(self.path)
                self.assertEqual(trace.names, expected.names)
                for layer in trace.layers:
                    for role in "AWG":
                        other = expected[layer.name].values[role]
                        self.assert_close(layer.values[role], other, text=f"{name} {layer.name} {role}")
            optimizer.step()
            self.assert_close(loss, tensors["loss"][step], 1e-4, "loss")
        for key, value in part("after/").items():
            self.assert_close(model.state_dict()[key], value, 1e-4, key)


class Example(RecordingTest):
    def setUp(self):
        super().setUp()
        path = os.path.join(ROOT, "python", "examples", "record_torchvision.py")
        spec = importlib.util.spec_from_file_location("record_torchvision", path)
        self.example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.example)

    def run_example(self, *arguments):
        out = os.path.join(self.folder, "out")
        with mock.patch("sys.argv", ["record", "--out", out, *arguments]), mock.patch("builtins.print"):
            self.example.main()
        return [lacuna.read_trace(os.path.join(out, name)) for name in sorted(os.listdir(out))]

    def test_the_small_net(self):
        arguments = ("--steps", "3", "--record-every", "2", "--batch", "5", "--size", "16")
        for device in DEVICES:
            with self.subTest(device=device):
                traces = self.run_example("--model", "small", "--device", device, *arguments)
                self.assertEqual([t.metadata["progress"][:4] for t in traces], ["0.66", "1.0"])
                self.assertEqual((traces[0].metadata["batch"], traces[0].names), ("5", ["0", "3", "6", "10", "12"]))
                self.assertGreater(traces[1]["3"].zeros("G"), 0.3)

    def test_without_torchvision(self):
        with mock.patch.dict(sys.modules, {"torchvision": None}), self.assertRaisesRegex(SystemExit, "--model small"):
            self.run_example("--model", "resnet18")
