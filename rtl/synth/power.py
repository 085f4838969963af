"""Energy per cycle with the switching of a co-simulation (cosim/activity.cpp), and a check of the netlists.

OpenSTA 2.0.17 reads no waveforms. Rates per pin are refused (`set_power_activity -pins` stops with an error of its own) or
overruled by those it propagates from the inputs, which grow without bound in adders. So it is asked for one rate on all nets,
and the result is scaled by the mean rate of the nets, which comes from simulating the netlist's gates on what the RTL's wires
carried. Glitches and the capacitance of wiring are not in it.
"""
import json
import re
import struct
import subprocess

import gates

PERIOD_NS = 100
REFERENCE = 0.1  # transitions per net and clock
LANES = 16


def sta(liberty, folder, use, netlist, rates):
    """pJ per cycle of one module: OpenSTA's energy of a transition on the average net, times how many there are."""
    source = folder / f"power_{use}.v"
    source.write_text(netlist.text)
    script = folder / f"power_{use}.tcl"
    script.write_text("\n".join([
        f"read_liberty {liberty}", f"read_verilog {source}", "link_design design_top",
        f"create_clock -name clk -period {PERIOD_NS}", "set_input_delay 0 -clock clk [all_inputs]",
        "set_input_transition 0.1 [all_inputs]", "set_load 0.02 [all_outputs]",
        f"set_power_activity -global -activity {REFERENCE}", "report_power", "exit"]) + "\n")
    log = subprocess.run(["sta", "-no_splash", str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=True).stdout
    total = re.search(r"^Total\s+(\S+)\s+(\S+)", log, re.M)
    rate = sum(rates[wire][0] for wire in netlist.pins) / len(netlist.pins)
    return (float(total.group(1)) + float(total.group(2))) * PERIOD_NS * 1e3 * rate / REFERENCE


def compare(use, got, wanted, clocks):
    """The netlist's outputs against the RTL's, for every clock."""
    wrong = [wire for wire, value in wanted.items() if got.get(wire, 0) != value]
    if wrong:
        raise RuntimeError(f"the netlist of {use} does not compute what the RTL does in {clocks} clocks: {wrong[:4]}")


def mean(runs, clocks):
    """Toggle rate and duty of each wire over several simulations of one netlist."""
    found = {}
    for wire in runs[0]:
        pairs = [gates.toggles(run[wire], clocks) for run in runs]
        found[wire] = tuple(sum(p[i] for p in pairs) / len(pairs) for i in (0, 1))
    return found


def float_product(a, b):
    """FP32 with denormals flushed, as fp_mul documents; the operands are finite."""
    number = lambda bits: struct.unpack("<f", struct.pack("<I", bits))[0]
    product = struct.unpack("<I", struct.pack("<f", number(a) * number(b)))[0]
    return product if product & 0x7f800000 else product & 0x80000000


def combinational(liberty, work, functions, use, design, ports, widths, outputs):
    folder = work / design
    netlist = gates.Netlist((folder / "scalar.v").read_text(), functions)
    clocks = len(next(iter(ports.values())))
    inputs = {}
    for port, width in widths.items():
        inputs.update(gates.columns(ports[port], width, port))
    values = netlist.simulate({w: inputs.get(w, (1 << clocks) - 1) for w in netlist.inputs}, clocks)
    for port, width in outputs.items():
        compare(use, values, gates.columns(ports[port], width, port), clocks)
    return sta(liberty, folder, use, netlist, mean([values], clocks))


def pe(liberty, work, functions, use, ports):
    """Multipliers and adder tree of a PE. The accumulator's adder counts as one of the tree's."""
    folder = work / "pe_base_fp32"
    text = (folder / "scalar.v").read_text()
    multiplier = gates.Netlist(gates.submodule(text, "fp_mul"), functions)
    adder = gates.Netlist(gates.submodule(text, "fp_add"), functions)
    clocks = len(ports["a_i"])
    word = lambda port, clock, lane: int(ports[port][clock], 16) >> (32 * lane) & 0xffffffff
    runs, terms = [], []
    for lane in range(LANES):
        inputs = {}
        for port in ("a_i", "b_i"):
            inputs.update(gates.columns([f"{word(port, t, lane):x}" for t in range(clocks)], 32, port))
        runs.append(multiplier.simulate(inputs, clocks))
        products = [f"{float_product(word('a_i', t, lane), word('b_i', t, lane)):x}" for t in range(clocks)]
        compare(f"{use}, multiplier {lane}", runs[-1], gates.columns(products, 32, "product_o"), clocks)
        terms.append([runs[-1][f"product_o[{i}]"] for i in range(32)])
    sums = []
    while len(terms) > 1:
        level = []
        for left, right in zip(terms[::2], terms[1::2]):
            inputs = {f"a_i[{i}]": left[i] for i in range(32)} | {f"b_i[{i}]": right[i] for i in range(32)}
            sums.append(adder.simulate(inputs, clocks))
            level.append([sums[-1][f"sum_o[{i}]"] for i in range(32)])
        terms = level
    return (LANES * sta(liberty, folder, f"{use}_multiplier", multiplier, mean(runs, clocks)),
            LANES * sta(liberty, folder, f"{use}_adder", adder, mean(sums, clocks)))


def report(liberty, work, results, activity_file):
    """pJ per cycle at 0.18 um of the synthesised netlists, and the same if every tenth net switched."""
    recorded = json.loads(activity_file.read_text())
    functions = gates.cell_functions(liberty)
    uses, found = recorded["uses"], {}
    assumed = lambda design: round(results[design]["dynamic_w_at_10mhz"] * PERIOD_NS * 1e3, 1)
    if "scheduler" in results:
        found["scheduler"] = {"pj": combinational(liberty, work, functions, "scheduler", "scheduler", uses["scheduler"], {"window_i": 48},
                                                  {"sel_o": 48, "valid_o": 16}), "pj_at_10_percent": assumed("scheduler")}
    if "mux_fp32" in results:
        for use in ("mux_a", "mux_b"):
            found[use] = {"pj": combinational(liberty, work, functions, use, "mux_fp32", uses[use],
                                              {"staged_i": 1536, "sel_i": 48, "valid_i": 16}, {"operands_o": 512}),
                          "pj_at_10_percent": assumed("mux_fp32")}
    if "pe_base_fp32" in results:
        for use in ("pe_dense", "pe_skipping"):
            multipliers, adders = pe(liberty, work, functions, use, uses[use])
            found[use] = {"pj": multipliers + adders, "pj_multipliers": round(multipliers, 1), "pj_adders": round(adders, 1),
                          "pj_at_10_percent": assumed("pe_base_fp32")}
    for use in found.values():
        use["pj"] = round(use["pj"], 1)
    return {"operation": recorded["operation"], "clocks": recorded["clocks"], "steps": recorded["steps"], "uses": found}
