"""The scripts of python/zoo on tiny data sets in their public formats: what they record is what they say, the program
reads it, and data that is missing or damaged is named."""

import contextlib
import csv
import hashlib
import importlib
import importlib.util
import io
import json
import os
import random
import shutil
import subprocess
import sys
import unittest
from unittest import mock

import torch
from torch import nn

import lacuna
from support import RecordingTest

ZOO = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "zoo")
PROGRAM = os.environ.get("LACUNA_PROGRAM", "")


def setUpModule():
    sys.path.insert(0, ZOO)


def tearDownModule():
    sys.path.remove(ZOO)


def write(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def write_cifar(folder):
    for name, count in (("data_batch_1", 12), ("data_batch_2", 12), ("test_batch", 6)):
        write(folder, name + ".bin", b"".join(bytes([n % 10]) + random.randbytes(3072) for n in range(count)))


def ppm(width, height):
    return b"P6\n%d %d\n255\n" % (width, height) + random.randbytes(width * height * 3)


def write_images(folder):
    for part, count in (("train", 4), ("val", 2)):
        for label in ("cat", "dog"):
            for n in range(count):
                write(folder, f"{part}/{label}/{n}.ppm", ppm(70 + n, 66))


def write_snli(folder):
    words = "a man dog runs sleeps on the grass house red".split()
    for part, count in (("train", 12), ("dev", 4)):
        lines = []
        for n in range(count):
            one, other = (" ".join(random.choices(words, k=5)) for _ in range(2))
            label = ("entailment", "neutral", "contradiction", "-")[n % 4]
            lines.append(json.dumps({"gold_label": label, "sentence1": one + ".", "sentence2": other}))
        write(folder, f"snli_1.0_{part}.jsonl", "\n".join(lines))


def write_captions(folder):
    images = [{"id": 7 + n, "file_name": f"{n}.ppm"} for n in range(5)]
    notes = [{"image_id": 7 + n % 5, "caption": f"A dog on the {'grass' if n % 2 else 'house'}."} for n in range(10)]
    for n in range(4):  # one image was not downloaded
        write(folder, f"images/{n}.ppm", ppm(40, 44))
    write(folder, "annotations/captions_train2017.json", json.dumps({"images": images, "annotations": notes}))


def write_wikitext(folder):
    text = "\n".join(f" the {word} of {word} was here . " for word in "river valley town river hill".split() * 8)
    for part in ("train", "valid"):
        write(folder, f"wiki.{part}.tokens", text)


def write_graph(folder):
    labels = ("Theory", "Neural_Networks")
    content = [f"p{n} {' '.join(random.choices('01', k=14))} 1 {labels[n % 2]}" for n in range(10)]
    write(folder, "cora.content", "\n".join(content) + "\n")
    write(folder, "cora.cites", "\n".join(f"p{n} p{(3 * n + 1) % 11}" for n in range(10)) + "\n")  # p10 is not there


class ZooTest(RecordingTest):
    def setUp(self):
        super().setUp()
        random.seed(4)
        self.data, self.out = os.path.join(self.folder, "data"), os.path.join(self.folder, "out")
        os.mkdir(self.data)

    def script(self, name, *arguments):
        """Run a script in this process; its exit status and what it printed."""
        from zoolib.training import run_script

        output = io.StringIO()
        command = [*arguments, "--data", self.data, "--out", self.out, "--device", "cpu"]
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            with mock.patch.object(sys, "argv", [name + ".py"]):
                status = run_script(importlib.import_module(name).main, command)
        return status, output.getvalue()

    def record_with(self, name, *arguments):
        """Run a script that must succeed; its traces by file, all of them in the manifest and readable by the program."""
        status, output = self.script(name, *arguments)
        self.assertEqual(status, 0, output)
        with open(os.path.join(self.out, "MANIFEST.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        files = {row["file"] for row in rows}
        self.assertEqual(files | {"MANIFEST.csv"}, set(os.listdir(self.out)))
        traces = {}
        for row in rows:
            path = os.path.join(self.out, row["file"])
            with open(path, "rb") as file:
                content = file.read()
            trace = traces[row["file"].split(".")[0]] = lacuna.read_trace(path)
            self.assertEqual((row["bytes"], row["sha256"]), (str(len(content)), hashlib.sha256(content).hexdigest()))
            self.assertEqual((row["model"], row["data"]), (trace.metadata["model"], trace.metadata["dataset"]))
            self.assertEqual((int(row["layers"]), row["batch"]), (len(trace.layers), trace.metadata["batch"]))
            self.assertEqual(float(row["progress"]) / 100, float(trace.metadata["progress"]))
            score = "accuracy" if row["accuracy"] else "loss"
            self.assertAlmostEqual(float(row[score]), float(trace.metadata[score]), places=4)
            self.assertEqual(float(row["epoch"]), float(trace.metadata["epoch"]))
        if PROGRAM:
            for command in (["inspect"], ["simulate", "--arch", "tensordash"]):
                files = [os.path.join(self.out, row["file"]) for row in rows[-1:]]
                done = subprocess.run([PROGRAM, *command, *files], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
        return traces

    def assert_refused(self, pattern, name, *arguments):
        status, output = self.script(name, *arguments)
        self.assertEqual(status, 2, output)
        self.assertRegex(output, pattern)
        self.assertEqual(output.count("\n"), 1, output)
        self.assertNotIn("MANIFEST.csv", os.listdir(self.out) if os.path.isdir(self.out) else [])


class Program(ZooTest):
    """What the scripts record, for the program."""

    def test_classifiers(self):
        write_images(self.data)
        small = ("--width", "0.05", "--size", "64", "--batch", "4", "--uncompressed")
        traces = self.record_with("cnns", "--model", "vgg16", "--steps", "3", "--points", "2,50,100", *small)
        self.assertEqual(sorted(traces), ["vgg16_p002", "vgg16_p050", "vgg16_p100"])
        trace = traces["vgg16_p100"]
        self.assertEqual([trace[name].info["batch"] for name in ("features.2", "classifier.0")], [2, 4])
        self.assertEqual(len(trace.layers), 16)
        self.assertGreater(trace["features.2"].zeros("A"), 0.1)
        for model, layers in (("alexnet", 8), ("squeezenet", 26), ("resnet50", 54), ("mobilenet", 28)):
            traces = self.record_with("cnns", "--model", model, "--steps", "1", "--points", "100", *small)
            self.assertEqual(len(traces[model + "_p100"].layers), layers, model)

    def test_sparse_training(self):
        write_cifar(self.data)
        common = ("--model", "resnet18_cifar", "--width", "0.2", "--batch", "6", "--points", "100", "--uncompressed")
        for method in ("SM", "DS"):
            name = f"resnet18_cifar_{method}90_p100"
            trace = self.record_with("sparse", "--method", method, "--steps", "3", "--every", "1", *common)[name]
            weights = [layer.masks["W"] for layer in trace.layers]
            share = sum(int(w.sum()) for w in weights) / sum(w.numel() for w in weights)
            self.assertLess(abs(share - 0.1), 0.01, method)
            self.assertEqual(len(trace.layers), 21)
        common = ("--model", "wrn16_8_cifar", "--width", "0.02", *common[4:])
        for method, roles in (("swat", "AW"), ("resprop", "AWG"), ("topk", "AWG")):
            ending = {"swat": "swat90", "resprop": "resprop_swat90", "topk": "top90"}[method]
            traces = self.record_with("sparse", "--method", method, "--steps", "2", *common)
            trace = traces[f"wrn16_8_cifar_{ending}_p100"]
            self.assertEqual(len(trace.layers), 17)
            for layer in trace.layers[1:]:
                for role in "AWG":
                    kept = layer.masks[role].float().mean()
                    if role in roles and layer.masks[role][0].numel() > 40:
                        self.assertLess(kept, 0.12, f"{method} {layer.name} {role}")
                noted = "A_forward" in layer.masks  # all activations in SWAT's forward product
                self.assertEqual(noted, method != "topk", layer.name)
                if noted:
                    self.assertLess(layer.zeros("A_forward"), layer.zeros("A"))
                    self.assertTrue(bool((layer.masks["A"] <= layer.masks["A_forward"]).all()))
            self.assertEqual(trace["conv1"].zeros("W") > 0.8, method == "topk")
            self.assertEqual(trace.metadata["version"], "1" if method == "topk" else "3")

    def test_sentence_pairs(self):
        write_snli(self.data)
        small = ("--steps", "2", "--batch", "4", "--samples", "2", "--hidden", "8", "--uncompressed")
        trace = self.record_with("snli", *small)["snli_p100"]
        self.assertEqual((trace["project"].info["steps"], trace["fc1"].info["batch"]), (24, 4))
        self.assertGreater(trace["fc2"].zeros("A"), 0.2)
        self.assertEqual(trace["encoder.hh_l0#2"].info["steps"], 24)

    def test_captions(self):
        write_captions(self.data)
        small = ("--batch", "3", "--hidden", "8", "--width", "0.05", "--size", "32", "--points", "100", "--uncompressed")
        trace = self.record_with("captions", "--steps", "2", *small)["img2txt_p100"]
        self.assertIn("4 training images 32x32", trace.metadata["dataset"])
        self.assertEqual(trace["encoder.5.three.1.conv"].info["kernel"], [3, 3])
        self.assertEqual([trace[name].info["steps"] for name in ("lstm.ih_l0", "lstm.hh_l0", "out")], [11, 11, 10])
        self.assertEqual(len(trace.layers), 61)  # as in data/

    def test_language(self):
        write_wikitext(self.data)
        small = ["--hidden", "12", "--layers", "2", "--context", "8", "--batch", "3"]
        small += ["--steps", "2", "--points", "100", "--uncompressed", "--vocabulary", "270"]
        record = lambda model, *more: self.record_with("language", "--model", model, *small, *more)[f"{model}_p100"]
        trace = record("gcn")
        self.assertEqual([trace[f"convs.{n}"].info["output_hw"] for n in (0, 1)], [[1, 5], [1, 2]])
        self.assertEqual(trace["convs.0"].zeros("A"), 0)  # no padding
        trace = record("relu2_gpt", "--bfloat16", "--warmup", "1")
        self.assertGreater(trace["blocks.1.feed_forward.fc2"].zeros("A"), 0.2)
        self.assertGreater(trace["blocks.1.matmul#2"].zeros("A"), 0.4)  # what comes later has no weight
        self.assertEqual(trace["head"].info["out_features"], 270)
        self.assertEqual(record("gelu_gpt")["blocks.1.feed_forward.fc2"].zeros("A"), 0)
        trace = record("relu2_moe", "--experts", "2")  # both see every token
        self.assertGreater(trace["blocks.1.feed_forward.experts.1.fc2"].zeros("A"), 0.2)
        self.assertEqual(trace["blocks.1.feed_forward.experts.1.fc2"].info["steps"], 8)

    @unittest.skipUnless(
        importlib.util.find_spec("sentencepiece") and shutil.which("dpkg-deb"), "needs SentencePiece and dpkg-deb"
    )
    def test_tokens_of_packages(self):
        folder = os.path.join(self.folder, "package")
        control = "Package: words\nVersion: 1\nArchitecture: all\nMaintainer: no one\nDescription: a test\n"
        write(folder, "DEBIAN/control", control)
        for number in range(60):
            words = " ".join("".join(random.choices("aeioklmnrst", k=4)) for _ in range(120))
            page = f"<head><title>no</title></head><p>Terms of use</p><p>{words}</p>"
            write(folder, f"usr/share/doc/words/{number}.html", page)
        package = os.path.join(self.folder, "words_1_all.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", folder, package], check=True, capture_output=True)
        make = importlib.import_module("debian_text").main
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            make([package, "--out", self.data, "--vocabulary", "400"])
        self.assertIn("60 pages", output.getvalue())
        small = ("--hidden", "12", "--layers", "1", "--context", "8", "--batch", "3", "--steps", "1", "--points", "100")
        arguments = ("--model", "relu_gpt", *small, "--uncompressed")
        trace = self.record_with("language", *arguments)["relu_gpt_p100"]
        self.assertRegex(trace.metadata["dataset"], r"Debian documentation \(\d+ byte-pair tokens\)")
        shutil.rmtree(self.out)
        write(self.data, "corpus.json", '{"name": "smaller", "vocabulary": 300}')
        self.assert_refused("tokens that its vocabulary does not have.*make it again", "language", *arguments)

    def test_diffusion(self):
        write_cifar(self.data)
        small = ("--channels", "8", "--batch", "2", "--test", "2", "--steps", "1", "--points", "100", "--uncompressed")
        for activation, zeros in (("silu", False), ("relu", True)):
            trace = self.record_with("diffusion", "--activation", activation, *small)[f"unet_{activation}_p100"]
            self.assertEqual(trace["down.1.conv1"].zeros("A") > 0.1, zeros)

    def test_vision_transformer(self):
        write_cifar(self.data)
        small = ("--width", "0.2", "--optimizer", "adamw", "--steps", "1", "--points", "100", "--uncompressed")
        trace = self.record_with("cnns", "--model", "vit_cifar", "--batch", "2", *small)["vit_cifar_p100"]
        self.assertGreater(trace["blocks.11.fc2"].zeros("A"), 0.2)
        self.assertEqual(trace["blocks.11.fc2"].info["steps"], 64)

    def test_graph(self):
        write_graph(self.data)
        compressed = [] if shutil.which("zstd") else ["--uncompressed"]
        trace = self.record_with("graph", "--epochs", "3", "--points", "100", *compressed)["graph_p100"]
        self.assertEqual([layer.info["batch"] for layer in trace.layers], [10, 10])
        self.assertGreater(trace["conv1"].zeros("A"), 0.1)
        self.assertGreater(trace["conv2"].zeros("A"), 0.2)


class Refused(ZooTest):
    def test_data_that_is_missing_is_named(self):
        for name, pattern in (
            ("cnns", "data/train: a folder of classes is not there; download Imagenette"),
            ("snli", "snli_1.0_train.jsonl: SNLI's part 'train' is not there; download SNLI 1.0"),
            ("captions", "none of captions_train2017.json.* download COCO's captions"),
            ("language", "wiki.train.tokens: WikiText-2's part 'train' is not there; download WikiText-2"),
            ("graph", r"no NAME.content in it; download Cora"),
        ):
            with self.subTest(name):
                self.assert_refused(pattern, name)
        write(self.data, "data_batch_1.bin", b"\0" * 3073)
        pattern = "test_batch.bin: CIFAR-10's test set is not there; download CIFAR-10's binary"
        self.assert_refused(pattern, "sparse", "--method", "SM")

    def test_data_that_is_damaged_is_named(self):
        write_cifar(self.data)
        write(self.data, "test_batch.bin", b"\0" * 3000)
        self.assert_refused("test_batch.bin: 3000 bytes are not records", "cnns")
        write(self.data, "test_batch.bin", b"\x0b" + b"\0" * 3072)
        self.assert_refused("a label of 11", "cnns")
        write_snli(self.data)
        write(self.data, "snli_1.0_train.jsonl", "{}\n")
        self.assert_refused("train.jsonl:1: not a sentence pair", "snli")
        write_graph(self.data)
        write(self.data, "cora.content", "a 0 1 x\nb 0 y\n")
        self.assert_refused("cora.content:2: 1 features, the first line has 2", "graph")
        write(self.data, "captions.json", "[]")
        self.assert_refused("captions.json: not a caption file", "captions")

    def test_arguments(self):
        write_cifar(self.data)
        self.assert_refused("--points 5,200: not a list of percentages", "cnns", "--points", "5,200")
        small = ("--width", "0.1")
        self.assert_refused("6 points do not fit into 3 steps", "cnns", "--steps", "3", "--batch", "4", *small)
        self.assert_refused("24 training images are fewer than a batch of 64", "cnns", *small)
        wrong = ("--method", "swat", "--density", "1.5")
        self.assert_refused("--density 1.5: must be between 0 and 1", "sparse", *wrong, *small)

    def test_every_script_explains_itself(self):
        for name in ("captions", "cnns", "graph", "language", "snli", "sparse"):
            output = io.StringIO()
            with contextlib.redirect_stdout(output), self.assertRaises(SystemExit) as end:
                importlib.import_module(name).main(["--help"])
            self.assertEqual(end.exception.code, 0)
            self.assertIn(f"  {name}.py ", output.getvalue())


class Methods(ZooTest):
    def test_swat_multiplies_as_it_says(self):
        from zoolib.topk import largest, sparsify

        model = nn.Sequential(nn.Conv2d(2, 3, 1), nn.Conv2d(3, 4, 3, padding=1))
        x = torch.randn(2, 2, 5, 5)
        a = model[0](x).detach()
        sparsify(model, "swat", 0.25)
        y = model(x)
        w = model[1].weight.detach()
        cut = largest(w, 0.25, by_sample=False)
        self.assertEqual(int((cut != 0).sum()), w.numel() // 4)
        expected = nn.functional.conv2d(a, cut, model[1].bias, padding=1)
        self.assert_close(y, expected, text="all activations, largest weights")
        gradient = torch.randn_like(y)
        y.backward(gradient)
        expected = nn.grad.conv2d_weight(largest(a, 0.25, by_sample=True), w.shape, gradient, padding=1)
        self.assert_close(model[1].weight.grad, expected, text="largest activations, all gradients")
        back = nn.grad.conv2d_input(a.shape, cut, gradient, padding=1)
        expected = nn.grad.conv2d_weight(x, model[0].weight.shape, back)
        self.assert_close(model[0].weight.grad, expected, text="largest weights, all gradients")

    def test_resprop_adds_back_what_it_subtracts(self):
        """With everything kept the gradients are those of the dense product."""
        from zoolib.topk import sparsify

        for layer, shape in ((nn.Conv2d(2, 3, 3, stride=2, padding=1), (4, 2, 5, 5)), (nn.Linear(6, 5), (4, 6))):
            x = torch.randn(shape, requires_grad=True)
            model = nn.Sequential(nn.Identity(), layer)
            for step in range(2):
                x.grad = layer.weight.grad = None
                if step == 0:
                    sparsify(model, "resprop", 0.9999, first_dense=False)
                y = model(x)
                gradient = torch.randn_like(y)
                y.backward(gradient)
            sparse = x.grad, layer.weight.grad
            del layer.forward
            x.grad = layer.weight.grad = None
            model(x).backward(gradient)
            self.assert_close(sparse[0], x.grad, text="input gradient")
            self.assert_close(sparse[1], layer.weight.grad, text="weight gradient")

    def test_rearranged_weights_keep_their_number(self):
        from zoolib.pruning import METHODS

        for name, method in METHODS.items():
            model = nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 10))
            optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
            pruned = method(model, optimizer, 0.2, every=2)
            before = [mask.clone() for mask in pruned.masks]
            if name == "DS":
                pruned.threshold = 0.05
            for step in range(1, 7):
                optimizer.zero_grad()
                model(torch.randn(8, 20)).square().sum().backward()
                optimizer.step()
                pruned.after_step(step, 10)
            self.assertEqual(sum(int(m.sum()) for m in pruned.masks), sum(int(m.sum()) for m in before), name)
            self.assertTrue(any(not torch.equal(one, other) for one, other in zip(before, pruned.masks)), name)
            for mask, layer in zip(pruned.masks, (model[0], model[2])):
                self.assertFalse(layer.weight[~mask].any(), name)


if __name__ == "__main__":
    unittest.main()
