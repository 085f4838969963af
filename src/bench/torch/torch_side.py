"""The PyTorch side of `lacuna bench torch`.

Builds the network that Lacuna describes, starts it from Lacuna's weights, trains blocks of steps when told and answers
how long each step took and what its loss was. Requests and answers are one JSON object per line; between requests this
process sleeps. It ends when its standard input does. Its arguments are the number of threads, and variables of the
environment that are not for PyTorch (-NAME=VALUE) or for PyTorch alone (+NAME=VALUE).
"""
import json
import os
import re
import struct
import sys
import time

OLDEST = (1, 13)
FORMATS = ("contiguous", "channels_last")


def read_tensors(path):
    """The tensors of a safetensors file, by name."""
    kinds = {"F32": torch.float32, "U8": torch.uint8}
    with open(path, "rb") as file:
        data = bytearray(file.read())
    (header_size,) = struct.unpack_from("<Q", data)
    header = json.loads(bytes(data[8:8 + header_size]))
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        kind = kinds[entry["dtype"]]
        begin, end = entry["data_offsets"]
        count = (end - begin) // (4 if kind is torch.float32 else 1)
        flat = torch.frombuffer(data, dtype=kind, count=count, offset=8 + header_size + begin)
        tensors[name] = flat.reshape(entry["shape"]).clone()
    return tensors


def make_scalar_layers():
    class ScalarBias(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return x + self.bias

    class ScalarScale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x):
            return x * self.scale

    return {"scalar_bias": ScalarBias, "scalar_scale": ScalarScale}


class Linear:
    """Takes all features of a sample, flattened in the order c, h, w."""

    def __init__(self, layer):
        self.layer = layer

    def __call__(self, x):
        return self.layer(torch.flatten(x, 1))


class OnImages:
    """Gives features of samples, [n, c], as images of one pixel to what needs images."""

    def __init__(self, run):
        self.run = run

    def __call__(self, *inputs):
        return self.run(*[x.reshape(x.shape[0], -1, 1, 1) if x.dim() == 2 else x for x in inputs])


# The results of these are not needed for their own gradients, so the next layer may overwrite them.
OVERWRITABLE = ("conv", "linear", "batch_norm", "add", "concat", "average_pool")


def make_network(graph, dropout):
    """A module with the layers of the graph, and the parameters and buffers by Lacuna's names."""
    nn = torch.nn
    nodes = graph["nodes"]
    readers = [0] * len(nodes)
    last_reader = [0] * len(nodes)
    for i, node in enumerate(nodes):
        for j in node["inputs"]:
            readers[j] += 1
            last_reader[j] = i
    scalar_layers = make_scalar_layers()
    layers = nn.ModuleList()
    tensors = {}
    plan = []
    flat = [False] * len(nodes)  # whether the value is [n, c]

    def overwritable(j):
        return readers[j] == 1 and nodes[j]["kind"] in OVERWRITABLE

    def pool(node, before):
        sizes = dict(kernel_size=node["kernel"], stride=node["stride"], padding=node["padding"])
        floors = [(have + 2 * padding - kernel) // stride + 1 for have, kernel, stride, padding in
                  zip(before[1:], node["kernel"], node["stride"], node["padding"])]
        sizes["ceil_mode"] = floors != node["out"][1:]
        if node["kind"] == "max_pool":
            return nn.MaxPool2d(**sizes)
        if node["kernel"] == before[1:] and node["padding"] == [0, 0]:
            return nn.AdaptiveAvgPool2d(1)
        return nn.AvgPool2d(count_include_pad=False, **sizes)

    for i, node in enumerate(nodes):
        kind = node["kind"]
        if kind == "input":
            continue
        inputs = node["inputs"]
        before = nodes[inputs[0]]["out"]
        layer = None
        if kind == "conv":
            layer = nn.Conv2d(before[0], node["out"][0], node["kernel"], stride=node["stride"],
                              padding=node["padding"], dilation=node["dilation"], groups=node["groups"],
                              bias=node["bias"])
        elif kind == "linear":
            layer = nn.Linear(before[0] * before[1] * before[2], node["out"][0], bias=node["bias"])
        elif kind == "batch_norm":
            layer = (nn.BatchNorm1d if flat[inputs[0]] else nn.BatchNorm2d)(before[0])
        elif kind == "relu":
            layer = nn.ReLU(inplace=overwritable(inputs[0]))
        elif kind in ("max_pool", "average_pool"):
            layer = pool(node, before)
        elif kind == "dropout":
            layer = nn.Dropout(node["rate"] if dropout else 0.0)
        elif kind in scalar_layers:
            layer = scalar_layers[kind]()
        run = layer
        if kind == "linear":
            run = Linear(layer)
        elif kind == "add":
            # As torchvision's networks do: into one of the two where nobody else reads it.
            if overwritable(inputs[0]):
                run = torch.Tensor.add_
            elif overwritable(inputs[1]):
                inputs = inputs[::-1]
                run = torch.Tensor.add_
            else:
                run = torch.add
        elif kind == "concat":
            run = lambda *parts: torch.cat(parts, 1)
        elif kind == "flatten":
            run = lambda x: torch.flatten(x, 1)
        if layer is not None:
            layers.append(layer)
            for name, tensor in layer.state_dict(keep_vars=True).items():
                if name != "num_batches_tracked":
                    tensors[node["name"] + "." + name] = tensor
        if run is None:
            raise ValueError("unknown layer '%s'" % kind)
        needs_images = kind in ("conv", "max_pool", "average_pool")
        flat[i] = kind in ("linear", "flatten") or (not needs_images and all(flat[j] for j in inputs))
        if not flat[i] and any(flat[j] for j in inputs):
            run = OnImages(run)
        done = [j for j in set(inputs) if last_reader[j] == i]
        plan.append((run, i, inputs, done))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            values = [None] * len(nodes)
            values[0] = x
            del x
            for run, i, inputs, done in plan:
                values[i] = run(*[values[j] for j in inputs])
                for j in done:
                    values[j] = None
            return torch.flatten(values[-1], 1)

    return Network(), tensors


class Training:
    """One network in one memory format, with its optimizer."""

    def __init__(self, request, memory_format):
        self.format = torch.channels_last if memory_format == "channels_last" else torch.contiguous_format
        stored = read_tensors(request["checkpoint"])
        self.model, tensors = make_network(request["graph"], request["dropout"])
        learnt = set(name for name in stored if "/" not in name)
        if learnt != set(tensors):
            raise ValueError("parameters differ: %s" % sorted(learnt ^ set(tensors))[:4])
        with torch.no_grad():
            for name, tensor in tensors.items():
                if tensor.shape != stored[name].shape:
                    raise ValueError("%s is %s here and %s there" % (name, list(tensor.shape), list(stored[name].shape)))
                tensor.copy_(stored[name])
        self.model = self.model.to(memory_format=self.format)
        self.model.train()
        # Fixup's scalars learn at a tenth of the rate, as in Lacuna.
        scalars = set()
        for node in request["graph"]["nodes"]:
            if node["kind"] in ("scalar_bias", "scalar_scale"):
                scalars.add(node["name"] + (".bias" if node["kind"] == "scalar_bias" else ".scale"))
        parameters = {name: t for name, t in tensors.items() if isinstance(t, torch.nn.Parameter)}
        groups = [{"params": [t for name, t in parameters.items() if name not in scalars]}]
        if scalars:
            groups.append({"params": [parameters[name] for name in sorted(scalars)], "lr": 0.1 * request["lr"]})
        self.optimizer = torch.optim.SGD(groups, lr=request["lr"], momentum=request["momentum"],
                                         weight_decay=request["weight_decay"])
        self.masks = []
        for name, parameter in parameters.items():
            if "alive/" + name in stored:
                mask = stored["alive/" + name].to(torch.float32)
                self.masks.append((parameter, mask.to(memory_format=self.format) if mask.dim() == 4 else mask))

    def step(self, images, labels):
        begin = time.perf_counter()
        images = images.contiguous(memory_format=self.format)
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        if self.masks:
            with torch.no_grad():
                for parameter, mask in self.masks:
                    parameter.mul_(mask)
        value = loss.item()
        return time.perf_counter() - begin, value


def read_batches(request):
    """Batches of images [n, c, h, w] and labels, as the file holds them one after another."""
    batch = request["batch"]
    channels, height, width = request["input"]
    with open(request["batches"], "rb") as file:
        data = bytearray(file.read())
    pixels = batch * channels * height * width
    size = 4 * pixels + 4 * batch
    batches = []
    for i in range(request["steps"]):
        images = torch.frombuffer(data, dtype=torch.float32, count=pixels, offset=i * size)
        labels = torch.frombuffer(data, dtype=torch.int32, count=batch, offset=i * size + 4 * pixels)
        batches.append((images.reshape(batch, channels, height, width).clone(), labels.to(torch.int64)))
    return batches


def answer(request, trainings):
    if request["do"] == "forget":
        trainings.clear()
        return {}
    if request["do"] == "build":
        trainings.clear()
        torch.set_num_threads(request["threads"])
        torch.manual_seed(1)
        for memory_format in FORMATS:
            trainings[memory_format] = Training(request, memory_format)
        model = trainings["contiguous"].model
        return {"parameters": sum(p.numel() for p in model.parameters())}
    training = trainings[request["format"]]
    results = [training.step(images, labels) for images, labels in read_batches(request)]
    return {"seconds": [seconds for seconds, _ in results], "losses": [loss for _, loss in results]}


def blas_of(config, libraries):
    """The BLAS behind PyTorch's linear layers: the one that it was built with, as torch.__config__.show() says. A build
    with any BLAS ("generic") takes the system's, which may be the reference, many times slower. Other packages bring
    libraries of their own into the process: NumPy an OpenBLAS, which says nothing about PyTorch."""
    built_with = re.search(r"BLAS_INFO=(\w+)", config)
    name = built_with.group(1).lower() if built_with else "generic"
    if name != "generic":
        return {"open": "openblas"}.get(name, name)
    names = " ".join(sorted(path for path in libraries if not re.search(r"\b(numpy|scipy)\b", path)))
    for name in ("openblas", "mkl_", "blis", "atlas"):
        if name in names:
            return name.strip("_")
    if "/blas/libblas.so" in names:
        return "reference"
    return "mkl" if "Math Kernel Library" in config else ""


def blas_in_use():
    with open("/proc/self/maps") as file:
        libraries = set(line.split("/", 1)[1].strip() for line in file if ".so" in line and "/" in line)
    return blas_of(torch.__config__.show(), libraries)


def main():
    # Whatever libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(message):
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    for variable in sys.argv[2:]:
        name, _, value = variable[1:].partition("=")
        if variable.startswith("+"):
            os.environ[name] = value
        elif os.environ.get(name) == value:
            del os.environ[name]
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS"):
        os.environ[name + "_NUM_THREADS"] = sys.argv[1]
    global torch
    try:
        import torch
    except Exception as error:  # broken installations raise anything
        say({"no_torch": str(error).split("\n")[0]})
        return
    version = torch.__version__
    numbers = tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in version.split("+")[0].split(".")[:2])
    if numbers < OLDEST:
        say({"too_old": version})
        return
    say({"torch": version, "python": "%d.%d.%d" % sys.version_info[:3], "blas": blas_in_use()})
    trainings = {}
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), trainings)
        except Exception as error:
            reply = {"failed": "%s: %s" % (type(error).__name__, str(error).split("\n")[0])}
        say(reply)


if __name__ == "__main__":
    main()
