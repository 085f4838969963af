"""What the scripts need to know of a cell library: units, an inverter, flip-flops. From any liberty file."""
import pathlib
import re
import subprocess

TIME = {"ns": 1.0, "ps": 1e-3, "fs": 1e-6}
SI = {"m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15, "": 1.0}
SMALL_LOAD = 2  # inverters that an output drives
CHAIN = 6


def blocks(text, kind):
    """(name, body) of every `kind (name) { ... }`."""
    for match in re.finditer(rf'\b{kind}\s*\(\s*"?([^")]*)"?\s*\)\s*\{{', text):
        depth, end = 1, match.end()
        for brace in re.finditer(r"[{}]", text[end:]):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                yield match.group(1).strip(), text[end:end + brace.start()]
                break


def number(body, field):
    match = re.search(rf"\b{field}\s*:\s*\"?([-+.\deE]+)", body)
    return float(match.group(1)) if match else None


class Library:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        text = re.sub(r"/\*.*?\*/", "", self.path.read_text(), flags=re.S)
        self.name = next(blocks(text, "library"))[0]
        unit = re.search(r'time_unit\s*:\s*"?([\d.]+)\s*(\w+)"?', text)
        self.time_ns = float(unit.group(1)) * TIME[unit.group(2)] if unit else 1.0  # of the file's unit
        self.flip_flops, inverters = set(), []
        for cell, body in blocks(text, "cell"):
            if re.search(r"\bdont_use\s*:\s*\"?true", body):
                continue
            if re.search(r"\bff\s*\(", body):
                self.flip_flops.add(cell)
            pins = list(blocks(body, "pin"))
            inputs = [(n, b) for n, b in pins if re.search(r"direction\s*:\s*\"?input", b)]
            outputs = [(n, b) for n, b in pins if re.search(r"direction\s*:\s*\"?output", b)]
            if len(inputs) == len(outputs) == 1:
                function = re.search(r'function\s*:\s*"([^"]*)"', outputs[0][1])
                shown = re.sub(r"[\s()]", "", function.group(1)) if function else ""
                if shown in (f"!{inputs[0][0]}", f"{inputs[0][0]}'"):
                    inverters.append((number(body, "area") or 0.0, number(inputs[0][1], "capacitance") or 0.0, cell,
                                      inputs[0][0], outputs[0][0]))
        if not inverters or not self.flip_flops:
            raise ValueError(f"{path} has no inverter or no flip-flop")
        inverters.sort()
        _, self.pin_load, self.inverter, self.inverter_in, self.inverter_out = inverters[0]
        self.driver = inverters[min(1, len(inverters) - 1)][2]  # of the ports, for ABC
        self.load = round(SMALL_LOAD * self.pin_load, 6)        # of the output ports
        self.sequential = re.compile(r"^\s*(?:" + "|".join(map(re.escape, sorted(self.flip_flops))) + r")\s", re.M)

    def ps(self, fo4):
        """Gate delays in picoseconds, rounded to ten."""
        return round(fo4 * self.fo4 * 100) * 10

    def measure(self, folder):
        """Sets `fo4`, in ns: the delay of an inverter that drives four of its kind, in which delays are compared between nodes."""
        folder.mkdir(parents=True, exist_ok=True)
        cell = lambda name, a, y: f"{self.inverter} {name} (.{self.inverter_in}({a}), .{self.inverter_out}({y}));"
        chain = ["module chain(input a, output y);", f"wire [{CHAIN}:0] n; assign n[0] = a; assign y = n[{CHAIN}];"]
        for i in range(CHAIN):
            chain.append(cell(f"i{i}", f"n[{i}]", f"n[{i + 1}]"))
            chain += [f"wire d{i}{j}; " + cell(f"l{i}{j}", f"n[{i + 1}]", f"d{i}{j}") for j in range(3)]
        chain.append("endmodule")
        (folder / "netlist.v").write_text("\n".join(chain))
        (folder / "sta.tcl").write_text(f"""
read_liberty {self.path}
read_verilog {folder}/netlist.v
link_design chain
create_clock -name clk -period {100 / self.time_ns:g}
set_input_delay 0 -clock clk [all_inputs]
set_output_delay 0 -clock clk [all_outputs]
report_checks -path_delay max -from [get_ports a] -format full -digits 4
exit
""")
        log = subprocess.run(["sta", "-no_splash", str(folder / "sta.tcl")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, check=True).stdout
        # The middle of the chain, where edges have settled.
        times = [float(t) for t in re.findall(rf"([\d.]+)\s+[v^]\s+i[1-4]/{self.inverter_out}", log)]
        self.fo4 = (times[-1] - times[0]) / (len(times) - 1) * self.time_ns
