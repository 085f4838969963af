#!/usr/bin/env python3
"""Places and routes a module on the osu018 cells with Debian's qflow (Yosys, graywolf, qrouter), measures it and draws it.

  layout.py MODULE FOLDER [PARAMETER=VALUE...] [--svg PICTURE]

Prints a line of JSON: cells, their area, the die's, utilisation, delay without and with the wires. Wires are taken with the
capacitance that qrouter extracts, lumped per net; their resistance (some tens of ohms) is left out.
"""
import argparse
import json
import pathlib
import re
import subprocess

import silicon  # in this folder, as the next
from liberty import Library

LAYERS = {"metal1": "#3a6fb0", "metal2": "#b0413a", "metal3": "#4a9a4a", "metal4": "#b08a3a", "metal5": "#7a4ab0", "metal6": "#3aa0a0"}


def place_and_route(design, folder):
    """Leaves layout/MODULE.def and .rc in `folder`."""
    for name in ("source", "synthesis", "layout"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "top.sv").write_text(silicon.with_parameters(design))
    files = " ".join(str(folder / "top.sv" if p.stem == design.top else p) for p in silicon.sources(design.top))
    commands = (f"read_verilog -sv -DSYNTHESIS {silicon.RTL}/pkg/td_conn_pkg.sv {silicon.OUTER} {files}; hierarchy -top {design.top}; "
                f"proc; flatten; opt -full; splitnets -ports; rename -top {design.top}; write_verilog -noattr {folder}/source/{design.top}.v")
    subprocess.run(["yosys", "-q", "-p", commands], check=True)
    with (folder / "flow.log").open("w", encoding="utf-8") as log:
        for step in ("synthesize", "place", "route"):
            subprocess.run(["qflow", step, "-T", "osu018", design.top], cwd=folder, stdout=log, stderr=log, check=True)
    if "No failed routes" not in (folder / "log" / "route.log").read_text():
        raise SystemExit(f"layout: qrouter left nets unrouted; see {folder}/log/route.log")


def spef(folder, top, out):
    """Capacitance of each net, in pF, from the trees of (resistance, capacitance) that qrouter writes."""
    text = ['*SPEF "IEEE 1481-1998"', f'*DESIGN "{top}"', '*DATE ""', '*VENDOR ""', '*PROGRAM "qrouter"', '*VERSION ""', '*DESIGN_FLOW ""',
            "*DIVIDER /", "*DELIMITER :", "*BUS_DELIMITER [ ]", "*T_UNIT 1 NS",
            "*C_UNIT 1 PF", "*R_UNIT 1 OHM", "*L_UNIT 1 HENRY"]
    total = 0.0
    for line in (folder / "layout" / f"{top}.rc").read_text().splitlines():
        if "$" in line:  # buffers that qflow put behind ports have names that OpenSTA's reader refuses
            line = line.replace("$", "_")
        net = line.split(" ", 1)[0]
        load = sum(float(c) for c in re.findall(r"\( [\d.e+-]+ ([\d.e+-]+) ", line))
        total += load
        driver, *sinks = (name.removeprefix("PIN/").replace("/", ":") for name in re.findall(r"\S+/\S+", line))
        port = lambda name, way: f"*I {name} {way}" if ":" in name else f"*P {name} {'I' if way == 'O' else 'O'}"
        text += [f"*D_NET {net} {load:.6g}", "*CONN", port(driver, "O"), *(port(sink, "I") for sink in sinks), "*CAP",
                 f"1 {driver} {load:.6g}", "*RES", *(f"{i + 1} {driver} {sink} 0.1" for i, sink in enumerate(sinks)), "*END"]
    out.write_text("\n".join(text) + "\n")
    return total


def delay(folder, top, library, wires):
    netlist = (folder / "synthesis" / f"{top}.rtlnopwr.v").read_text()
    (folder / "cells.v").write_text(re.sub(r"^\s*FILL .*?;\n", "", netlist, flags=re.M).replace("$", "_"))
    clock = "[get_ports clk_i]" if library.sequential.search(netlist) else ""
    (folder / "sta.tcl").write_text(f"""
read_liberty {library.path}
read_verilog {folder}/cells.v
link_design {top}
{f"read_spef {wires}" if wires else ""}
create_clock -name clk -period 100 {clock}
set_input_delay 0 -clock clk [all_inputs]
set_output_delay 0 -clock clk [all_outputs]
set_input_transition 0.1 [all_inputs]
set_load 0.02 [all_outputs]
report_checks -path_delay max -format full -digits 4
exit
""")
    log = subprocess.run(["sta", "-no_splash", str(folder / "sta.tcl")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=True).stdout
    (folder / "sta.log").write_text(log)
    return round(100 - min(float(s) for s in re.findall(r"(-?[\d.]+)\s+slack", log)), 3)


def draw(text, picture, sizes):
    """Cells and wires of a DEF file."""
    unit = float(re.search(r"UNITS DISTANCE MICRONS (\d+)", text).group(1))
    x0, y0, x1, y1 = (int(v) for v in re.search(r"DIEAREA \( (-?\d+) (-?\d+) \) \( (-?\d+) (-?\d+) \)", text).groups())
    flip = lambda y: y1 - y + y0
    boxes = []
    for cell, x, y in re.findall(r"^- \S+ (\S+) \+ PLACED \( (-?\d+) (-?\d+) \)", text, re.M):
        w, h = (round(v * unit) for v in sizes[cell])
        boxes.append(f"M{x} {flip(int(y) + h)}h{w}v{h}h-{w}z")
    wires = {layer: [] for layer in LAYERS}
    for layer, ax, ay, bx, by in re.findall(r"(metal\d) \( (-?\d+) (-?\d+) \) \( (\S+) (\S+) \)", text[text.index("\nNETS"):]):
        if bx == "*":
            wires[layer].append(f"M{ax} {flip(int(ay))}V{flip(int(by))}")
        else:
            wires[layer].append(f"M{ax} {flip(int(ay))}H{bx}")
    body = [f'<path d="{"".join(boxes)}" fill="#f2efe6" stroke="#999" stroke-width="8"/>']
    body += [f'<path d="{"".join(lines)}" fill="none" stroke="{LAYERS[layer]}" stroke-width="30" stroke-opacity="0.7"/>'
             for layer, lines in wires.items() if lines]
    picture.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x0} {y0} {x1 - x0} {y1 - y0}" width="900"><title>'
                       f'{(x1 - x0) / unit:.0f} um x {(y1 - y0) / unit:.0f} um</title><rect x="{x0}" y="{y0}" width="{x1 - x0}" '
                       f'height="{y1 - y0}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("parameters", nargs="*")
    parser.add_argument("--svg", type=pathlib.Path)
    options = parser.parse_args()
    library = Library(silicon.LIBERTY)
    top, folder = options.module, options.folder.resolve()
    if not (folder / "layout" / f"{top}.rc").exists():
        place_and_route(silicon.Design(top, top, **dict(p.split("=", 1) for p in options.parameters)), folder)
    text = (folder / "layout" / f"{top}.def").read_text()
    lef = silicon.LIBERTY.with_name("osu018_stdcells.lef").read_text()
    sizes = {cell: (float(w), float(h)) for cell, w, h in re.findall(r"^MACRO (\S+).*?SIZE ([\d.]+) BY ([\d.]+)", lef, re.M | re.S)}
    placed = [cell for cell in re.findall(r"^- \S+ (\S+) \+ PLACED", text, re.M) if cell != "FILL"]
    area = sum(sizes[cell][0] * sizes[cell][1] for cell in placed)
    unit = float(re.search(r"UNITS DISTANCE MICRONS (\d+)", text).group(1))
    x0, y0, x1, y1 = (int(v) / unit for v in re.search(r"DIEAREA \( (-?\d+) (-?\d+) \) \( (-?\d+) (-?\d+) \)", text).groups())
    wire_pf = spef(folder, top, folder / "wires.spef")
    found = {"module": top, "cells": len(placed), "cells_um2": round(area), "die_um": [round(x1 - x0, 1), round(y1 - y0, 1)],
             "utilisation": round(area / ((x1 - x0) * (y1 - y0)), 3), "wires_pf": round(wire_pf, 2),
             "delay_ns": delay(folder, top, library, None), "delay_with_wires_ns": delay(folder, top, library, folder / "wires.spef")}
    if options.svg:
        draw(text, options.svg, sizes)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
