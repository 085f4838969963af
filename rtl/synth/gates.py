"""Simulates a combinational netlist of library cells on recorded inputs, all clocks at once: a wire is an integer whose bit t
is its value in clock t. Serves two ends: does the netlist compute what the RTL does, and how often does each wire switch?"""
import re


def cell_functions(liberty):
    """(cell, output pin) -> compiled expression over its input pins."""
    functions, cell, pin = {}, None, None
    for line in liberty.read_text().splitlines():
        if match := re.search(r"\bcell\s*\((\w+)\)", line):
            cell = match.group(1)
        elif match := re.search(r"\bpin\s*\((\w+)\)", line):
            pin = match.group(1)
        elif (match := re.search(r'\bfunction\s*:\s*"(.*)"', line)) and not re.search(r"\w{4}", match.group(1)):
            text = re.sub(r"\s*([+^])\s*", r"\1", match.group(1))
            text = re.sub(r"(?<=[\w)])\s+(?=[\w(!])", "&", text)  # neighbours are a conjunction
            functions[cell, pin] = compile(text.replace("!", "~").replace("+", "|"), cell, "eval")
    return functions


class Netlist:
    """One module of scalar.v, of cells only."""

    def __init__(self, text, functions):
        self.text = text
        name = lambda s: s.strip().lstrip("\\").strip()
        self.inputs = [name(n) for n in re.findall(r"^  input (.*?);$", text, re.M)]
        self.driver = {}  # wire -> (expression, input wires by pin) or the wire it is assigned from
        self.pins = {}    # wire -> pin that drives it
        for cell, instance, body in re.findall(r"^  (\w+) (\S+) \(\n((?:    \..*\n)+)  \);", text, re.M):
            wires = {p: name(w) for p, w in re.findall(r"\.(\w+)\((.*?)\s*\)(?:,|$)", body, re.M)}
            for pin, wire in wires.items():
                if (cell, pin) in functions:
                    self.driver[wire] = (functions[cell, pin], wires)
                    self.pins[wire] = f"{instance}/{pin}"
        for left, right in re.findall(r"^  assign (.*?) = (.*?)\s*;$", text, re.M):
            self.driver[name(left)] = name(right)

    def simulate(self, inputs, clocks):
        """inputs: wire -> integer. Returns the same for every wire."""
        mask = (1 << clocks) - 1
        value = {"1'h0": 0, "1'h1": mask, **inputs}
        for wire in self.driver:
            stack = [wire]
            while stack:
                top = stack[-1]
                if top in value:
                    stack.pop()
                    continue
                driver = self.driver[top]
                if isinstance(driver, str):
                    needed = [driver]
                else:
                    needed = [w for p, w in driver[1].items() if w != top and p not in ("Y", "YC", "YS")]
                waiting = [w for w in needed if w not in value]
                if waiting:
                    stack += waiting
                elif isinstance(driver, str):
                    value[stack.pop()] = value[driver]
                else:
                    pins = {p: value.get(w, 0) for p, w in driver[1].items()}
                    value[stack.pop()] = eval(driver[0], {"__builtins__": {}}, pins) & mask
        return value


def submodule(text, ending):
    """The module of a hierarchical netlist whose name ends in `ending`, as a separate netlist."""
    body = re.search(rf"^module \S*{ending} ?\((.*?)^endmodule$", text, re.M | re.S).group(1)
    return f"module design_top({body}endmodule\n"


def columns(words, width, port):
    """A port's words, one per clock, as one integer per bit."""
    bits = [0] * width
    for clock, word in enumerate(words):
        value = int(word, 16)
        while value:
            low = value & -value
            bits[low.bit_length() - 1] |= 1 << clock
            value ^= low
    return {f"{port}[{i}]": bits[i] for i in range(width)}


def toggles(value, clocks):
    """Transitions per clock, share of clocks at 1."""
    changes = (value ^ (value >> 1)) & ((1 << (clocks - 1)) - 1)
    return changes.bit_count() / (clocks - 1), value.bit_count() / clocks
