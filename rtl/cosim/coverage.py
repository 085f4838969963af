#!/usr/bin/env python3
"""Statement and toggle coverage of the RTL by the co-simulation tests: coverage.py ROOT OUT [TEST...]

Builds the tests a second time with Verilator's coverage in ROOT/build/rtl-coverage, runs them and merges what all
instances of a module covered. A statement counts if any instance ran it, a bit if it toggled in any instance. Verilator
leaves out toggles of signals wider than 256 bits. Prints a line per module and why the rest was not covered, writes
OUT/uncovered.txt, and fails below 95 %.
"""
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

TESTS = ["rtl_outer_product_test", "rtl_tile_test", "rtl_storage_test", "rtl_fp_test", "rtl_fig7_test"]  # the longest first
GROUPS = {"TensorDash": r"td_.*", "floating point": r"fp_.*", "ANT and SCNN": r"(ant|scnn|outer)_.*", "all": r".*"}
LEAST = 0.95

# module, statement or toggle, what (of uncovered.txt), why it was not covered. Covered points never get here.
REASONS = [
    ("td_scheduler|td_iterative_scheduler", "statement", r".*", "functions that the compiler runs: which lanes a level has"),
    ("td_scheduler", "toggle", r"(sel|valid)\[", "a lane chooses at one level and is silent at the others"),
    ("td_scheduler|td_sched_level|td_iterative_scheduler", "toggle", r"(window|window_o)\[",
     "nothing of the oldest step is left after its lane's level (proved)"),
    ("td_compressor|td_select|td_drained", "toggle", r"(left|window_i)\[",
     "nothing of the oldest step is left (proved)"),
    ("fp_add", "toggle", r"(big_sig|small_sig|lost)\[[012]\]", "room for rounding: zero before the shift"),
    ("ant_pe", "statement", r"if", "Verilator counts in a copy of the `if` behind its assignment, where a minimum is no longer above its value"),
    ("ant_pe|ant_selector", "toggle", r"position(_o)?\[", "the top bit of a place in the window, which only counts have"),
    ("ant_selector", "toggle", r"seen\[", "no more hits than places before"),
    ("outer_axis_range", "toggle", r"round_up\[", "0, 1 or 3"),
    ("scnn_pe", "toggle", r"(kernel_place_o|place_q)\[[01]\]", "goes in steps of four"),
    ("td_tile", "toggle", r"unused_done", "read by nobody"),
    ("fp_mul", "toggle", r"wide\[", "zeros below the product, from which bfloat16 operands are rounded"),
]


def jobs():
    return int(os.environ.get("SILICON_JOBS", os.cpu_count()))


def build(root, tests):
    folder = root / "build" / "rtl-coverage"
    # Compiling takes longer than running.
    environment = {**os.environ, "RTL_OPTIMIZE": os.environ.get("RTL_OPTIMIZE", "-O0")}
    options = ["-DLACUNA_RTL=ON", "-DLACUNA_RTL_COVERAGE=ON", "-DLACUNA_BENCH=OFF"]
    if shutil.which("ccache"):
        options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    run = lambda *command: subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
    run("cmake", "--preset", "release", "-B", str(folder), *options)
    run("ninja", "-C", str(folder), "-j", str(jobs()), *tests)
    return folder


def read(path, points):
    for line in path.read_text(errors="replace").splitlines():
        match = re.match(r"C '(.*)' (\d+)$", line)
        if not match:
            continue
        fields = dict(part.split("\x02", 1) for part in match.group(1).split("\x01") if "\x02" in part)
        source = pathlib.Path(fields["f"])
        if source.parent.name not in ("fp", "tensordash", "outer_product"):
            continue
        kind = "toggle" if "toggle" in fields["page"] else "statement"
        points[(source.stem, kind, int(fields["l"]), fields.get("n", ""), fields.get("o", ""))] += int(match.group(2))


def reason_of(module, kind, what):
    for modules, of_kind, pattern, reason in REASONS:
        if of_kind == kind and re.fullmatch(modules, module) and re.match(pattern, what):
            return reason
    return "not explained"


def main():
    root, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    tests = sys.argv[3:] or TESTS
    folder = build(root, tests)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    run = lambda test: subprocess.run([str(folder / "rtl" / test)], env={**os.environ, "LACUNA_RTL_COVERAGE": str(out)}, check=True,
                                      stdout=subprocess.DEVNULL)
    with concurrent.futures.ThreadPoolExecutor(jobs()) as pool:
        list(pool.map(run, tests))
    points = collections.Counter()
    for path in out.glob("*.dat"):
        read(path, points)
        path.unlink()
    totals, reasons = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    with open(out / "uncovered.txt", "w", encoding="utf-8") as rest:
        for (module, kind, line, column, what), count in sorted(points.items()):
            for name in [module, *(group for group, pattern in GROUPS.items() if re.fullmatch(pattern, module))]:
                totals[name, kind][0] += count > 0
                totals[name, kind][1] += 1
            if count == 0:
                reason = reason_of(module, kind, what)
                reasons[kind, reason] += 1
                rest.write(f"{module}:{line}:{column} {kind} {what}: {reason}\n")
    print(f"{'module':<26} {'statements':>18} {'toggles':>20}")
    share = lambda pair: f"{pair[0]}/{pair[1]} {100 * pair[0] / pair[1]:6.1f} %" if pair[1] else "-"
    for module in [*sorted({m for m, _ in totals} - set(GROUPS)), *GROUPS]:
        print(f"{module:<26} {share(totals[(module, 'statement')]):>18} {share(totals[(module, 'toggle')]):>20}")
    print("\nnot covered")
    for (kind, reason), count in reasons.most_common():
        print(f"{count:>6} {kind + 's':<11} {reason}")
    sys.exit(any(totals["all", kind][0] < LEAST * totals["all", kind][1] for kind in ("statement", "toggle")))


if __name__ == "__main__":
    main()
