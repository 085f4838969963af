#!/usr/bin/env python3
"""Area, delay and power of the RTL on a library of standard cells (osu018): Yosys and ABC, then OpenSTA.

Called by rtl/silicon, which has built the connectivities. Results are cached by a hash of their inputs, so a second
run only redoes what changed.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import power  # in this folder, as the next two
from liberty import Library
from report import report

RTL = pathlib.Path(__file__).resolve().parent.parent
# LACUNA_LIBERTY: the same cells from elsewhere, or another library.
LIBERTY = pathlib.Path(os.environ.get("LACUNA_LIBERTY", "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"))
OUTER = RTL / "pkg" / "outer_pkg.sv"
# The clock that ABC works towards, in gate delays: 2 ns at 65 nm are 57 (see report.py). Designs that are to be fast get a
# shorter one, and a script that maps for delay: Yosys' own makes prefix adders into ripples. An FP32 multiplier takes 10.5 ns
# with that and 6.9 ns with this one.
TARGET_FO4, FAST_FO4 = 57.11, 36
FAST_ABC = "-script +strash;dch;map,-B,0.9,{D};topo;buffer,-c;upsize,{D};dnsize,{D};stime,-p"

# Scaling of delays and areas from 180 nm to other nodes. Constant-field scaling: lengths, and with them gate delays,
# shrink with the drawn length, areas with its square. Real nodes differ; ratios inside one node do not depend on this.
SCALING = {"65nm": {"delay": 65 / 180, "area": (65 / 180) ** 2}, "16nm": {"delay": 16 / 180, "area": (16 / 180) ** 2}}


# More than ten seconds each.
LONGEST = {"accumulators", "backside_fp32", "compressor_fp32", "crossbar", "mux_crossbar", "row_frontend_fp32", "transposer_bf16",
           "transposer_fp32"}


PERIOD_NS = 100


class Design:
    """One module with its parameters; `connectivity` names the package that it is built with."""

    def __init__(self, name, top, connectivity="paper", hierarchical=False, keep=(), without=(), fast=False,
                 **parameters):
        self.name, self.top, self.connectivity = name, top, connectivity
        self.hierarchical, self.parameters = hierarchical, parameters
        # Instances that stay modules while the rest is flattened; modules whose timing is measured on their own, because a
        # netlist with all of them is too large.
        self.keep, self.without, self.fast = keep, without, fast


# A whole tile: the control of all rows is one netlist, PEs, staging buffers and multiplexers stay modules. Multipliers and
# adders are left out of its netlist for timing: their registers are their own module's (pe_*), which is measured with them.
PE = ("u_mux", "u_mul", "u_add", "u_acc")
TILE = {"keep": (*PE, "u_pe", "u_staged", "u_a", "u_b"), "without": ("fp_mul", "fp_add")}
# Registers of the tiles that are compared at one clock. bfloat16 products are short enough as they are.
FAST = {"fp32": {"MulRegs": 1, "AddRegs": 1}, "bf16": {"MulRegs": 0, "AddRegs": 1}}
MAN = {"fp32": 23, "bf16": 7}


def tiles():
    for kind, regs in FAST.items():
        for sides, name in ((0, "base"), (1, "td")):
            operands = {"OperandReg": sides, "ManIn": MAN[kind]}
            yield Design(f"tile_{name}_{kind}", "td_tile", fast=True, Sides=sides, **operands, **regs, **TILE)
            yield Design(f"pe_fast_{name}_{kind}", "td_pe", fast=True, keep=PE, Multiplexed=sides, **operands, **regs)


def designs(quick):
    pick = [
        Design("scheduler", "td_scheduler"),
        Design("mux_fp32", "td_operand_mux", Width=32),
        Design("mux_bf16", "td_operand_mux", Width=16),
        Design("fp_mul_bf16", "fp_mul", ManIn=7),
        Design("ant_selector", "ant_selector"),
        Design("ant_axis_range", "outer_axis_range"),
        Design("window_ctrl", "td_window_ctrl"),
    ]
    if quick:
        return pick
    pick += [
        Design("fp_add_fp32", "fp_add"),
        Design("fp_mul_fp32", "fp_mul"),
        Design("staging3_fp32", "td_staging", Depth=3, Bits=512),
        Design("staging1_fp32", "td_staging", Depth=1, Bits=512),
        Design("staging3_bf16", "td_staging", Depth=3, Bits=256),
        Design("staging1_bf16", "td_staging", Depth=1, Bits=256),
        Design("pe_base_fp32", "td_pe", keep=PE, Multiplexed=0, ManIn=23),
        Design("pe_base_bf16", "td_pe", keep=PE, Multiplexed=0, ManIn=7),
        Design("row_frontend_fp32", "td_row_frontend", Width=32),
        Design("row_frontend_bf16", "td_row_frontend", Width=16),
        Design("scnn_pe", "scnn_pe", hierarchical=True),
        Design("ant_pe", "ant_pe", hierarchical=True),
        Design("crossbar", "outer_crossbar"),
        Design("accumulators", "outer_accumulators", hierarchical=True),
    ]
    growth = ("depth2", "lookahead", "lanes4", "lanes8", "lanes32", "moves4", "moves6", "depth4", "early", "crossbar")
    for name in growth:
        pick.append(Design(f"scheduler_{name}", "td_scheduler", connectivity=name))
        pick.append(Design(f"mux_{name}", "td_operand_mux", connectivity=name, Width=32))
    pick += [
        Design("transposer_bf16", "td_transposer", Width=16),
        Design("transposer_fp32", "td_transposer", Width=32),
        Design("iterative_scheduler", "td_iterative_scheduler"),
        Design("zero_counter", "td_zero_counter"),
        Design("fp_add_bf16", "fp_add", Man=7),
        Design("compressor_fp32", "td_compressor"),
        Design("backside_fp32", "td_compressor", Iterative=1),
        Design("decompressor_fp32", "td_decompressor"),
        *tiles(),
    ]
    return pick


def sources(top):
    """The files of `top` and of every module below it: one module per file, named after it."""
    files = {p.stem: p for folder in ("fp", "tensordash", "outer_product") for p in (RTL / folder).glob("*.sv")}
    needed, todo = set(), [top]
    while todo:
        module = todo.pop()
        if module not in needed:
            needed.add(module)
            todo += [m for m in re.findall(r"^\s*(\w+) (?:#\(|u_\w+ \()", files[module].read_text(), re.M) if m in files]
    return sorted(files[module] for module in needed)


def run(command, log):
    """Returns what the program printed and the processor seconds that it and its children took."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    log.write_text(output)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} failed; its output is {log}\n" + "\n".join(output.splitlines()[-5:]))
    return output, usage.ru_utime + usage.ru_stime


def with_parameters(design):
    """The top module's text with the design's parameters as its defaults: given as `hierarchy -chparam`, Yosys 0.23 derives the
    modules below twice and fails an internal assertion."""
    text = next(p for p in sources(design.top) if p.stem == design.top).read_text()
    for name, value in design.parameters.items():
        text, found = re.subn(rf"(\bparameter [\w ]+\b{name} +=) [^,\s]+", rf"\1 {value}", text)
        if found != 1:
            raise RuntimeError(f"{design.top} has no parameter {name}")
    return text


def script(design, package, folder, library):
    files = " ".join(str(folder / "top.sv" if p.stem == design.top else p) for p in sources(design.top))
    return "\n".join([
        f"read_verilog -sv {package} {OUTER} {files}",
        f"hierarchy -check -top {design.top}",
        "proc" if design.hierarchical else "proc; " + " ".join(
            f"setattr -set keep_hierarchy 1 */c:{name} */c:*.{name};" for name in design.keep) + " flatten",
        "rename -top design_top",
        "synth -run coarse:",
        f"dfflibmap -liberty {library.path}",
        f"abc -liberty {library.path} -constr {folder}/abc.constr " + (
            f"-D {library.ps(FAST_FO4)} {FAST_ABC}" if design.fast else f"-D {library.ps(TARGET_FO4)}"),
        "opt_clean -purge",
        f"tee -o {folder}/stat.txt stat -liberty {library.path}",
        "splitnets -ports",  # OpenSTA cannot read concatenations on the left of an assignment; see single_assignments
        *[f"delete */t:*{module}*; delete =*{module}*" for module in design.without],
        f"write_verilog -noattr {folder}/scalar.v",
    ])


def synthesise(design, package, folder, library):
    """Leaves the netlist in scalar.v; returns area in um2, cells and processor seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "abc.constr").write_text(f"set_driving_cell {library.driver}\nset_load {library.load} [all_outputs]\n")
    (folder / "top.sv").write_text(with_parameters(design))
    (folder / "yosys.ys").write_text(script(design, package, folder, library))
    _, seconds = run(["yosys", "-q", "-s", str(folder / "yosys.ys")], folder / "yosys.log")
    netlist = folder / "scalar.v"
    netlist.write_text(single_assignments(netlist.read_text()))
    stat = (folder / "stat.txt").read_text()
    areas = re.findall(r"Chip area for (?:top )?module '(.*?)': ([\d.]+)", stat)
    cells = re.findall(r"Number of cells:\s+(\d+)", stat)
    # With a hierarchy the last line is the whole.
    return float(areas[-1][1]), int(cells[-1]), seconds


def bits_of(term):
    """The scalars of one term of a concatenation, highest first."""
    constant = re.match(r"(\d+)'([hb])([0-9a-fx]+)$", term)
    if not constant:
        return [term]
    width, digits = int(constant.group(1)), constant.group(3).replace("x", "0")
    value = int(digits, 16 if constant.group(2) == "h" else 2)
    return [f"1'h{value >> i & 1}" for i in reversed(range(width))]


def single_assignments(text):
    """`assign { a, b } = { c, d };` as one assignment per scalar."""
    def split(match):
        sides = [[b for term in side.strip().strip("{}").split(",") for b in bits_of(term.strip())] for side in match.groups()]
        return "\n".join(f"  assign {left} = {right} ;" for left, right in zip(*sides))
    return re.sub(r"^  assign (\{.*?\}) = (.*?);$", split, text, flags=re.M)


def timing(folder, library):
    """Longest delay in ns from any input or register to any output or register, power in W at 10 MHz, processor seconds."""
    netlist = folder / "scalar.v"
    period = PERIOD_NS / library.time_ns
    clock = f"create_clock -name clk -period {period:g}"
    if library.sequential.search(netlist.read_text()):
        clock += " [get_ports clk_i]"
    script = f"""
read_liberty {library.path}
read_verilog {netlist}
link_design design_top
{clock}
set_input_delay 0 -clock clk [all_inputs]
set_output_delay 0 -clock clk [all_outputs]
set_input_transition {library.fo4 / library.time_ns:.4g} [all_inputs]
set_load {library.load} [all_outputs]
report_checks -path_delay max -format full -digits 4
set_power_activity -global -activity 0.1
report_power
exit
"""
    (folder / "sta.tcl").write_text(script)
    text, seconds = run(["sta", "-no_splash", str(folder / "sta.tcl")], folder / "sta.log")
    # One path per group; resets are a separate group.
    slacks = [float(slack) for slack in re.findall(r"(-?[\d.]+)\s+slack", text)]
    delay = round((period - min(slacks)) * library.time_ns, 3) if slacks else None
    power = re.search(r"^Total\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", text, re.M)
    # report_power is at the clock of 100 ns; dynamic power goes with the frequency.
    dynamic = (float(power.group(1)) + float(power.group(2))) if power else None
    leakage = float(power.group(3)) if power else None
    return delay, dynamic, leakage, seconds


def measure(design, connectivities, work, library):
    package = RTL / "pkg" / "td_conn_pkg.sv"
    generated = connectivities / design.connectivity / "td_conn_pkg.sv"
    if generated.exists():
        package = generated
    elif design.connectivity != "paper":
        return None
    key = hashlib.sha256()
    folder = work / design.name
    for path in [package, OUTER, *sources(design.top)]:
        key.update(path.read_bytes())
    key.update(with_parameters(design).encode())
    # The commands, without the folders.
    key.update(library.path.read_bytes())
    key.update(re.sub(r"\S*/", "", script(design, package, folder, library)).encode())
    cached = folder / "result.json"
    if cached.exists():
        result = json.loads(cached.read_text())
        if result.get("key") == key.hexdigest() and (result["delay_ns"] or 0) > 0:
            return result
    area, cells, synthesis_s = synthesise(design, package, folder, library)
    delay, dynamic, leakage, timing_s = timing(folder, library)
    text = package.read_text()
    size = {k: int(re.search(rf"{k} = (\d+)", text).group(1)) for k in ("Lanes", "Depth", "Moves", "Levels")}
    result = {"name": design.name, "top": design.top, "parameters": design.parameters, "connectivity": design.connectivity,
              "size": size, "area_um2": area, "cells": cells, "delay_ns": delay, "dynamic_w_at_10mhz": dynamic,
              "leakage_w": leakage, "cpu_seconds": round(synthesis_s + timing_s, 1), "key": key.hexdigest()}
    cached.write_text(json.dumps(result, indent=1))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few modules only")
    parser.add_argument("--connectivities", type=pathlib.Path, default=RTL / "none")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--activity", type=pathlib.Path, help="what cosim/activity.cpp recorded; adds energies with it")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measure these and print no tables")
    parser.add_argument("--liberty", type=pathlib.Path, default=LIBERTY, help="cells; each library wants a folder --work of its own")
    options = parser.parse_args()
    if not options.liberty.exists():
        sys.exit(f"silicon: {options.liberty} is missing; install qflow-tech-osu018")
    begin = time.time()
    library = Library(options.liberty)
    library.measure(options.work / "fo4")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        chosen = [d for d in designs(options.quick) if options.only is None or d.name in options.only]
        chosen.sort(key=lambda d: d.name not in LONGEST)  # else one core waits for the other at the end
        jobs = {pool.submit(measure, d, options.connectivities, options.work, library): d for d in chosen}
        results = {}
        for job in concurrent.futures.as_completed(jobs):
            result = job.result()
            if result is not None:
                results[result["name"]] = result
                print(f"  {result['name']:<22} {result['area_um2']:>12,.0f} um2 {result['delay_ns'] or 0:>7.2f} ns"
                      f" {result['cells']:>8,} cells {result['cpu_seconds']:>6.1f} CPU s", file=sys.stderr, flush=True)
    if options.only:
        return
    switching = power.report(library.path, options.work, results, options.activity) if options.activity else None
    summary = report(results, library, SCALING, options.quick, switching)
    summary["seconds"] = round(time.time() - begin, 1)
    print(summary.pop("text"))
    if options.json:
        options.json.write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
