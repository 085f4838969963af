"""Reports for the site's front page, made by the program from data/, and the zoo: every recorded step on every machine."""
import csv
import json
import re
import subprocess
import sys

import measurements
import pictures

# File, title, what it shows, command. `{out}` is the report.
REPORTS = [
    ("alexnet", "AlexNet on seven machines", "speedups, energy and what holds each machine back, layer by layer",
     "simulate data/alexnet_p100.safetensors.zst --energy "
     "--arch dense,tensordash,cnvlutin,structured-2of4,sparten,scnn-4096,ant-4096 --html {out}"),
    ("vgg16", "VGG16 over its training", "six steps from the first to the last epoch",
     "simulate data/vgg16_series_p002.safetensors.zst data/vgg16_series_p010.safetensors.zst "
     "data/vgg16_series_p030.safetensors.zst data/vgg16_series_p050.safetensors.zst "
     "data/vgg16_series_p075.safetensors.zst data/vgg16_series_p100.safetensors.zst --energy --html {out}"),
    ("pruned", "Zeros of a pruned ResNet-50", "where they are, in activations, weights and gradients",
     "inspect data/resnet50_SM90_p100.safetensors.zst --html {out}"),
    ("fig13", "Fig. 13 of the TensorDash paper", "ours and theirs, with a reason for each difference",
     "reproduce fig13 --html {out}"),
]
ZOO = ("zoo", "The zoo", "every recorded step on every machine, sortable")
ZOO_MACHINES = "docs/results/data/zoo/machines.csv"
SLOW = {"fig13"}  # left out of quick builds: it takes longer than all the rest of the site

# Measured speedups of the CPU kernels over oneDNN's direct convolutions.
KERNELS = "docs/results/data/zoo/kernels.csv"
DATA = re.compile(r'(<script type="application/json" id="lacuna-data">)(.*?)(</script>)', re.DOTALL)


def write_reports(program, folder, quick):
    """Writes the reports; returns those that were written, as (file, title, what it shows)."""
    folder.mkdir(parents=True)
    written = []
    for name, title, shows, command in REPORTS:
        if quick and name in SLOW:
            continue
        arguments = [word.format(out=folder / f"{name}.html") for word in command.split()]
        subprocess.run([program.path, *arguments], cwd=measurements.ROOT, check=True, capture_output=True)
        written.append((f"{name}.html", title, shows))
    write_zoo(program, folder / "zoo.html")
    return [("zoo.html", *ZOO[1:]), *written]


def machine_tables():
    """Speedups and efficiencies by trace and machine, from the measurements."""
    bases = {title: base for title, (base, *_) in pictures.MACHINES.items()}
    tables = {}
    for row in measurements.read(ZOO_MACHINES):
        numbers = {measure: float(row[measure]) for measure in ("speedup", "from_zeros", "efficiency") if row[measure]}
        tables.setdefault(row["trace"], {})[bases[row["design"]]] = numbers
    return tables


def without_kernels(inspected, speedups):
    """Why the traces that have no measured speedup have none."""
    missing = [trace for trace in inspected["traces"] if trace["trace"].split("/")[-1].split(".")[0] not in speedups]
    dense = [trace["trace"].split("/")[-1].split("_p100")[0] for trace in missing
             if all(layer["type"] != "conv2d" for layer in trace["layers"])]
    reasons = []
    if dense:
        reasons.append(f"{', '.join(dense)}: no convolution to time")
    if len(missing) > len(dense):
        reasons.append(f"the other {len(missing) - len(dense)}: earlier steps of trainings, not timed")
    return "; ".join(reasons)


def zoo(inspected):
    """The data of the page (`Zoo` in web/src/zoo.ts)."""
    with open(measurements.ROOT / "data/MANIFEST.csv", encoding="utf-8", newline="") as file:
        manifest = {row["file"]: row for row in csv.DictReader(file)}
    kernels = measurements.read(KERNELS)
    speedups = {row["trace"]: float(row["x direct"]) for row in kernels}
    tables = machine_tables()
    traces = []
    for trace in inspected["traces"]:
        file = trace["trace"].split("/")[-1]
        name = file.split(".")[0]
        machines = tables.get(name)
        if machines is None:
            sys.exit(f"{ZOO_MACHINES}: no rows of {name}; simulate it with the command of the others")
        last = name.endswith("_p100")
        total = trace["per_batch"]["all"]
        traces.append({
            "trace": name.removesuffix("_p100"), "progress": float(manifest[file]["progress"]) / 100, "last": last,
            "network": manifest[file]["model"], "data": manifest[file]["data"],
            "zeros": trace["zeros_by_macs"], "at_best": total["macs"] / total["remaining_macs"], "machines": machines,
            **({"kernels": speedups[name]} if name in speedups else {}),
        })
    return {
        "machines": [{"base": base, "title": title} for title, (base, *_) in pictures.MACHINES.items()],
        "kernels_machine": kernels[0]["machine"], "without_kernels": without_kernels(inspected, speedups), "traces": traces,
    }


def write_zoo(program, to):
    """The page of `inspect`, with the zoo in place of its data."""
    traces = sorted(str(path.relative_to(measurements.ROOT)) for path in (measurements.ROOT / "data").glob("*.safetensors.zst"))
    subprocess.run([program.path, "inspect", *traces, "--html", str(to)], cwd=measurements.ROOT, check=True,
                   capture_output=True)
    page = to.read_text(encoding="utf-8")
    data = json.loads(DATA.search(page)[2])
    data = {"zoo": zoo(data.pop("inspect")), **data, "kind": "zoo", "command": "./run docs"}
    text = json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    to.write_text(DATA.sub(lambda found: found[1] + text + found[3], page, count=1), encoding="utf-8")
