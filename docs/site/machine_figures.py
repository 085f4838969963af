#!/usr/bin/env python3
"""machine_figures.py [--check]: draws docs/images/machines/NAME.svg from the tables of docs/results/machines.md.

One picture per machine: its speedup over the dense machine on every network, from zeros alone (filled) and with the lanes
that hold no element (open). --check: writes nothing; names the pictures that are not those of the tables, exit code 1.
"""
import html
import math
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = root / "docs" / "results" / "machines.md"
FOLDER = root / "docs" / "images" / "machines"
# Column of the tables: file, colour on white, colour on black (those of the report).
MACHINES = {
    "TensorDash": ("tensordash", "#0072B2", "#56A8E0"),
    "Cnvlutin": ("cnvlutin", "#009E73", "#3CC79A"),
    "2:4 weights": ("structured-2of4", "#8C6D1F", "#C9A94B"),
    "SparTen": ("sparten", "#CC79A7", "#E3A3C6"),
    "SCNN-like": ("scnn", "#E69F00", "#F2C14E"),
    "ANT": ("ant", "#D55E00", "#F08A4B"),
}
LEFT, RIGHT, TOP, ROW, WIDTH = 250, 70, 48, 18, 760


def tables(text):
    """The tables whose first column is the network: machine -> {network: speedup as printed}, in the order of the page."""
    found, header = [], None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| network |"):
            header = cells[1:]
            found.append({machine: {} for machine in header})
        elif header and line.startswith("|---"):
            continue
        elif header and line.startswith("|"):
            for machine, cell in zip(header, cells[1:]):
                found[-1][machine][cells[0]] = cell
        else:
            header = None
    return found


def ticks(low, high):
    """Round numbers between, for a logarithmic axis."""
    steps = [m * 10.0**e for e in range(-3, 3) for m in ((1, 1.5, 2, 3, 5) if high < 5 * low else (1, 2, 5))]
    return [step for step in steps if low <= step <= high]


def draw(machine, colours, whole, from_zeros):
    """A picture as SVG text. Points, not bars: a logarithmic axis has no zero to start from."""
    networks = list(whole)
    values = [float(text) for text in [*whole.values(), *from_zeros.values()]]
    low, high = min(0.8, 0.85 * min(values)), max(1.25, 1.12 * max(values))
    height = TOP + ROW * len(networks) + 34

    def x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / low) / math.log(high / low)

    light, dark = colours
    title = f"Speedup of {machine} over the dense machine, by network"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(title)}">',
        "<style>text{font:12px system-ui,sans-serif;fill:#1f2937}.grid{stroke:#e5e7eb}.one{stroke:#6b7280;stroke-dasharray:4 3}"
        f".bg{{fill:#fff}}.dot{{fill:{light};stroke:{light}}}.open{{fill:none;stroke:{light}}}.bar{{stroke:{light};opacity:.5}}"
        "@media(prefers-color-scheme:dark){text{fill:#e5e7eb}.grid{stroke:#374151}.one{stroke:#9ca3af}.bg{fill:#111827}"
        f".dot{{fill:{dark};stroke:{dark}}}.open{{stroke:{dark}}}.bar{{stroke:{dark}}}}}</style>",
        f'<rect class="bg" width="{WIDTH}" height="{height}"/>',
        f'<text x="12" y="20" style="font-weight:600">{html.escape(title)}</text>',
        f'<circle class="dot" cx="{LEFT + 6}" cy="35" r="4"/><text x="{LEFT + 15}" y="39">from zeros</text>',
        f'<circle class="open" cx="{LEFT + 98}" cy="35" r="4"/><text x="{LEFT + 107}" y="39">with lanes that hold no element</text>',
    ]
    bottom = TOP + ROW * len(networks)
    for tick in ticks(low, high):
        kind = "one" if tick == 1 else "grid"
        out.append(f'<line class="{kind}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{bottom}"/>')
        out.append(f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{tick:g}x</text>')
    for row, network in enumerate(networks):
        y = TOP + ROW * (row + 0.5)
        printed = from_zeros.get(network, whole[network])
        own, every = float(printed), float(whole[network])
        weight = ' style="font-weight:600"' if network == "geometric mean" else ""
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end"{weight}>{html.escape(network)}</text>')
        if x(every) - x(own) > 8:
            out.append(f'<line class="bar" x1="{x(own):.1f}" x2="{x(every) - 4:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
            out.append(f'<circle class="open" cx="{x(every):.1f}" cy="{y:.1f}" r="4"/>')
        out.append(f'<circle class="dot" cx="{x(own):.1f}" cy="{y:.1f}" r="4"/>')
        out.append(f'<text x="{WIDTH - 12}" y="{y + 4:.1f}" text-anchor="end"{weight}>{printed}x</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def pictures():
    """Name of a file: its text."""
    whole, from_zeros = tables(RESULTS.read_text(encoding="utf-8"))[:2]
    return {
        f"{name}.svg": draw(machine, colours, whole[machine], from_zeros[machine])
        for machine, (name, *colours) in MACHINES.items()
    }


def stale():
    """The pictures that are not those of the tables."""
    return [
        name for name, text in pictures().items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]  # fmt: skip


def main():
    if sys.argv[1:] == ["--check"]:
        for name in stale():
            print(f"docs/images/machines/{name} is not what docs/results/machines.md says; run docs/site/machine_figures.py")
        sys.exit(1 if stale() else 0)
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
