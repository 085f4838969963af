#!/usr/bin/env python3
"""Places and routes a module on a Lattice iCE40 HX8K with Debian's yosys and nextpnr-ice40: LUTs, flip-flops, clock.

  fpga.py MODULE FOLDER [PARAMETER=VALUE...] [--package td_conn_pkg.sv]

The module stands between two chains of registers, one bit in and one bit out, because a device has too few pins. Counts are the
module's own; the clock includes the chains, which are not in its longest path. Prints a line of JSON.
"""
import argparse
import json
import pathlib
import re
import subprocess

import silicon  # in this folder


def yosys(commands, log):
    subprocess.run(["yosys", "-q", "-l", str(log), "-p", commands], check=True, stdout=subprocess.DEVNULL)


def ports(netlist):
    """(inputs, outputs) of the top module of a netlist in JSON, with their widths; no clock and reset."""
    module = next(m for m in netlist["modules"].values() if "top" in m["attributes"])
    found = {"input": {}, "output": {}}
    for name, port in module["ports"].items():
        if name not in ("clk_i", "rst_ni"):
            found[port["direction"]][name] = len(port["bits"])
    return found["input"], found["output"], set(module["ports"]) & {"clk_i", "rst_ni"}


def harness(top, inputs, outputs, clocked):
    wide_in, wide_out = sum(inputs.values()), sum(outputs.values())
    text = ["module harness(input clk_i, input rst_ni, input in_i, output out_o);", f"reg [{wide_in - 1}:0] in_q;",
            f"reg [{wide_out - 1}:0] out_q;", f"wire [{wide_out - 1}:0] out;", "reg [7:0] n_q;",
            f"always @(posedge clk_i) begin in_q <= {{in_q, in_i}}; n_q <= n_q + 1'b1; out_q <= n_q == 0 ? out : out_q >> 1; end",
            "assign out_o = out_q[0];", f"{top} u_dut ("]
    links = [f".{name}({name})" for name in sorted(clocked)]
    for wires, signal in ((inputs, "in_q"), (outputs, "out")):
        at = 0
        for name, width in wires.items():
            links.append(f".{name}({signal}[{at + width - 1}:{at}])")
            at += width
    return "\n".join([*text, ", ".join(links) + ");", "endmodule", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("parameters", nargs="*")
    parser.add_argument("--package", type=pathlib.Path, default=silicon.RTL / "pkg" / "td_conn_pkg.sv")
    options = parser.parse_args()
    folder, top = options.folder, options.module
    folder.mkdir(parents=True, exist_ok=True)
    design = silicon.Design(top, top, **dict(p.split("=", 1) for p in options.parameters))
    (folder / "top.sv").write_text(silicon.with_parameters(design))
    files = " ".join(str(folder / "top.sv" if p.stem == top else p) for p in silicon.sources(top))
    read = f"read_verilog -DSYNTHESIS -sv {options.package} {silicon.OUTER}; read_verilog -DSYNTHESIS -sv {files}; "
    yosys(read + f"synth_ice40 -top {top}; tee -o {folder}/stat.txt stat; write_json {folder}/module.json", folder / "module.log")
    netlist = json.loads((folder / "module.json").read_text())
    (folder / "harness.v").write_text(harness(top, *ports(netlist)))
    # The netlist that was counted, between its registers.
    yosys(f"read_json {folder}/module.json; read_verilog {folder}/harness.v; hierarchy -top harness; flatten; "
          f"synth_ice40 -top harness -json {folder}/harness.json", folder / "harness.log")
    log = subprocess.run(["nextpnr-ice40", "--hx8k", "--package", "ct256", "--json", str(folder / "harness.json"), "--seed", "1",
                          "--asc", str(folder / "harness.asc"), "--pcf-allow-unconstrained"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False).stdout
    (folder / "nextpnr.log").write_text(log)
    stat = (folder / "stat.txt").read_text()
    count = lambda pattern: sum(int(n) for n in re.findall(rf"^\s+{pattern}\s+(\d+)$", stat, re.M))
    clocks = re.findall(r"Max frequency for clock '[^']*': ([\d.]+) MHz", log)
    print(json.dumps({"module": top, "parameters": design.parameters, "luts": count("SB_LUT4"), "carries": count("SB_CARRY"),
                      "flip_flops": count(r"SB_DFF\w*"), "mhz": float(clocks[-1]) if clocks else None}))


if __name__ == "__main__":
    main()
