"""Pictures drawn from docs/results/data as SVG texts, in the colours of the report, light and dark."""
import html
import math

import measurements

DATA = "docs/results/data/machines/"
# Machine of the tables: file, colour on white, colour on black.
MACHINES = {
    "TensorDash": ("tensordash", "#0072B2", "#56A8E0"),
    "Cnvlutin": ("cnvlutin", "#009E73", "#3CC79A"),
    "2:4 weights": ("structured-2of4", "#8C6D1F", "#C9A94B"),
    "SparTen": ("sparten", "#CC79A7", "#E3A3C6"),
    "SCNN-like": ("scnn", "#E69F00", "#F2C14E"),
    "ANT": ("ant", "#D55E00", "#F08A4B"),
}
MEAN = "geometric mean"
WIDTH, TOP, ROW = 760, 48, 18


def ticks(low, high):
    """Round numbers between, for a logarithmic axis."""
    steps = [m * 10.0**e for e in range(-3, 3) for m in ((1, 1.5, 2, 3, 5) if high < 5 * low else (1, 2, 5))]
    return [step for step in steps if low <= step <= high]


class Picture:
    """An SVG with a title and a logarithmic axis from `low` to `high`."""

    def __init__(self, title, height, left, right, low, high, style):
        self.left, self.right, self.low, self.high = left, right, low, high
        self.out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{html.escape(title)}">',
            "<style>text{font:12px system-ui,sans-serif;fill:#1f2937}.grid{stroke:#e5e7eb}"
            f".one{{stroke:#6b7280;stroke-dasharray:4 3}}.bg{{fill:#fff}}{style[0]}"
            "@media(prefers-color-scheme:dark){text{fill:#e5e7eb}.grid{stroke:#374151}.one{stroke:#9ca3af}"
            f".bg{{fill:#111827}}{style[1]}}}</style>",
            f'<rect class="bg" width="{WIDTH}" height="{height}"/>',
            f'<text x="12" y="20" style="font-weight:600">{html.escape(title)}</text>',
        ]

    def x(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.left + (WIDTH - self.left - self.right) * share

    def text(self, x, y, text, anchor="start", bold=False):
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        weight = ' style="font-weight:600"' if bold else ""
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}"{place}{weight}>{html.escape(text)}</text>')

    def dot(self, kind, x, y, radius=4):
        self.out.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')

    def line(self, kind, x1, x2, y1, y2):
        self.out.append(f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>')

    def axis(self, bottom):
        for tick in ticks(self.low, self.high):
            self.line("one" if tick == 1 else "grid", self.x(tick), self.x(tick), TOP, bottom)
            self.text(self.x(tick), bottom + 18, f"{tick:g}x", "middle")

    def svg(self):
        return "\n".join([*self.out, "</svg>"]) + "\n"


def one_machine(machine, whole, from_zeros):
    """Speedup of one machine by trace. Points, not bars: a logarithmic axis has no zero to start from."""
    _, light, dark = MACHINES[machine]
    without = {network: float(text) / float(from_zeros[network]) for network, text in whole.items()}
    values = [*map(float, whole.values()), *without.values()]
    styles = [
        f".dot{{fill:{c};stroke:{c}}}.open{{fill:none;stroke:{c}}}.bar{{stroke:{c};opacity:.5}}" for c in (light, dark)
    ]
    bottom = TOP + ROW * len(whole)
    picture = Picture(f"Speedup of {machine} over the dense machine, by trace", bottom + 34, 250, 70,
                      min(0.8, 0.85 * min(values)), max(1.25, 1.12 * max(values)), styles)
    picture.dot("dot", picture.left + 6, 35)
    picture.text(picture.left + 15, 39, "speedup")
    picture.dot("open", picture.left + 98, 35)
    picture.text(picture.left + 107, 39, "without any zero")
    picture.axis(bottom)
    for row, network in enumerate(whole):
        y = TOP + ROW * (row + 0.5)
        printed = whole[network]
        own, bare = picture.x(float(printed)), picture.x(without[network])
        picture.text(picture.left - 8, y + 4, network, "end", network == MEAN)
        if abs(own - bare) > 8:
            picture.line("bar", own, bare + (4 if own > bare else -4), y, y)
            picture.dot("open", bare, y)
        picture.dot("dot", own, y)
        picture.text(WIDTH - 12, y + 4, printed + "x", "end", network == MEAN)
    return picture.svg()


def all_machines(speedups):
    """Speedups of all machines: a dot per trace, a bar at the geometric mean."""
    styles = ["".join(f".m{n} .dot{{fill:{c[mode]};opacity:.55}}.m{n} .mean{{stroke:{c[mode]};stroke-width:4}}"
                      for n, c in enumerate(MACHINES.values())) for mode in (1, 2)]
    values = [float(row[machine]) for row in speedups for machine in MACHINES]
    step, networks = 30, len(speedups) - 1
    bottom = TOP + step * len(MACHINES)
    picture = Picture(f"Times as fast as a dense machine of the same size: {networks} traces (dots), geometric mean (bar)",
                      bottom + 34, 110, 70, 0.85 * min(values), 1.15 * max(values), styles)
    picture.axis(bottom)
    for number, machine in enumerate(MACHINES):
        y = TOP + step * (number + 0.5)
        picture.text(picture.left - 8, y + 4, machine, "end")
        picture.out.append(f'<g class="m{number}">')
        for row in speedups:
            x = picture.x(float(row[machine]))
            if row["trace"] == MEAN:
                picture.line("mean", x, x, y - 10, y + 10)
                mean = row[machine]
            else:
                picture.dot("dot", x, y)
        picture.out.append("</g>")
        picture.text(WIDTH - 12, y + 4, mean + "x", "end", True)
    return picture.svg()


def training(rows):
    """Whole training steps, as times PyTorch's faster format: our engine with dense and with zero-skipping kernels."""
    styles = [f".dot{{fill:{c}}}.open{{fill:none;stroke:{c}}}.bar{{stroke:{c};opacity:.5}}" for c in ("#4B3F92", "#9C90E6")]
    step = 24
    bottom = TOP + step * len(rows)
    names = {row["network"]: row["network"].split(" (")[0].replace("`", "") for row in rows}
    best = [max(float(row["PyTorch, contiguous"]), float(row["PyTorch, channels last"])) for row in rows]
    values = [float(row[name]) / torch for row, torch in zip(rows, best) for name in ("dense", "auto")]
    picture = Picture("Training steps per second, as times PyTorch's", bottom + 34, 190, 60, 0.9 * min(1, *values),
                      1.1 * max(values), styles)
    picture.dot("open", picture.left + 6, 35)
    picture.text(picture.left + 15, 39, "oneDNN in our engine")
    picture.dot("dot", picture.left + 160, 35)
    picture.text(picture.left + 169, 39, "with kernels that skip zeros")
    picture.axis(bottom)
    for number, (row, torch) in enumerate(zip(rows, best)):
        y = TOP + step * (number + 0.5)
        dense, auto = (picture.x(float(row[name]) / torch) for name in ("dense", "auto"))
        picture.text(picture.left - 8, y + 4, names[row["network"]], "end")
        picture.line("bar", *sorted((dense, auto)), y, y)
        picture.dot("open", dense, y)
        picture.dot("dot", auto, y)
        picture.text(WIDTH - 12, y + 4, f"{float(row['auto']) / torch:.1f}x", "end")
    return picture.svg()


def drawn():
    """(path, text) of every picture."""
    images = measurements.ROOT / "docs/images"
    yield images / "training-speed.svg", training(measurements.read("docs/results/data/training-speed/zen4.csv"))
    folder = images / "machines"
    whole, from_zeros = (measurements.read(DATA + name) for name in ("speedup.csv", "speedup-from-zeros.csv"))
    yield folder / "all.svg", all_machines(whole)
    for machine, (name, *_) in MACHINES.items():
        yield folder / f"{name}.svg", one_machine(machine, *({r["trace"]: r[machine] for r in t} for t in (whole, from_zeros)))
