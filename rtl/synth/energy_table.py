#!/usr/bin/env python3
"""Writes an energy table whose logic comes from the RTL: energy_table.py silicon.json BASE.yaml OUT.yaml

The parts that the RTL has (mac, mux_input, scheduler_input, staging_value) get its areas and powers, scaled from 0.18 um to
65 nm; everything else is BASE's. So is the transposer: ours is of flip-flops that are clocked in every cycle, where a chip would
have a memory.
"""
import json
import re
import sys

LANES, MOVES = 16, 8
AREA = (65 / 180) ** 2
# C V^2: capacitance with the drawn length, 1.8 V to 1.1 V.
ENERGY = 65 / 180 * (1.1 / 1.8) ** 2
ACTIVITY_CLOCK_S = 100e-9  # the period report_power was asked at


def costs(modules):
    """part -> (area um2, energy pJ per cycle, what they are of), at 65 nm."""
    units = {"mac": ("pe_base_fp32", LANES, "baseline PE over 16 lanes"),
             "mux_input": ("mux_fp32", LANES * MOVES, "16 multiplexers of 8 inputs and 32 bits, per input"),
             "scheduler_input": ("scheduler", LANES * MOVES, "scheduler of 16 lanes and 8 choices, per choice"),
             "staging_value": ("staging3_fp32", 3 * LANES, "staging buffer of 3 x 16 values of 32 bits, per value")}
    found = {}
    for part, (module, count, text) in units.items():
        if module in modules:
            m = modules[module]
            energy = m["dynamic_w_at_10mhz"] * ACTIVITY_CLOCK_S * 1e12 / count * ENERGY
            found[part] = (m["area_um2"] / count * AREA, energy, text)
    return found


def main():
    modules = json.load(open(sys.argv[1], encoding="utf-8"))["modules"]
    base = open(sys.argv[2], encoding="utf-8").read()
    text = re.sub(r"^name: .*$", "name: rtl-osu018", base, count=1, flags=re.M)
    text = re.sub(r"^summary: .*$", "summary: logic of our own RTL on osu018 cells, scaled from 0.18 um to 65 nm; memories as in 65nm-fp32",
                  text, count=1, flags=re.M)
    text = "# Written by rtl/synth/energy_table.py; docs/silicon.md says how far to trust it.\n" + text
    for part, (area, energy, what) in costs(modules).items():
        begin = text.index(f"\n  {part}:")
        following = re.search(r"\n  [a-z#]", text[begin + 3:])
        end = begin + 3 + following.start() if following else len(text)
        block = text[begin:end]
        scaled = f"RTL on osu018 by Yosys, ABC and OpenSTA: {what}; 0.18 um to 65 nm"
        for field, value, how in (("cycle", energy, "C V2 at 1.8 V to 1.1 V, 10 % of the nets switching per cycle"), ("area", area, "by the square of the length")):
            block = re.sub(rf"(\n    {field}:\n      value: )\S+(\n      unit: \S+\n      source: )\".*\"(\n      confidence: )\w",
                           lambda m: f'{m.group(1)}{value:.6g}{m.group(2)}"{scaled} {how}"{m.group(3)}L', block)
        # Costs that the table gives in proportion to `cycle` stay in proportion.
        old = float(re.search(r"\n    cycle:\n      value: (\S+)", text[begin:end]).group(1))
        block = re.sub(r"(\n    (?:zero|gated)_cycle:\n      value: )(\S+)",
                       lambda m: f"{m.group(1)}{float(m.group(2)) / old * energy:.6g}", block)
        text = text[:begin] + block + text[end:]
    open(sys.argv[3], "w", encoding="utf-8").write(text)


if __name__ == "__main__":
    main()
