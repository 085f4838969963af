#!/usr/bin/env python3
"""Reads lacuna.core as FuseSoC does: every file of a target exists, every module of the hardware is in the core, and Verilator
elaborates each target from its file list alone."""
import pathlib
import subprocess
import sys

import yaml

RTL = pathlib.Path(__file__).resolve().parent
FOLDERS = ("pkg", "fp", "tensordash", "layer", "outer_product")
# Elaborating the paper's size takes ten times as long and finds no other file.
SMALL = {top: ["-GRows=1", "-GColumns=1", "-GManIn=7"] for top in ("td_tile", "td_layer")}


def main():
    text = (RTL / "lacuna.core").read_text(encoding="utf-8")
    if not text.startswith("CAPI=2:\n"):
        sys.exit("lacuna.core: does not begin with CAPI=2:")
    core = yaml.safe_load(text)
    listed = [file for fileset in core["filesets"].values() for file in fileset["files"]]
    if twice := sorted({file for file in listed if listed.count(file) > 1}):
        sys.exit(f"lacuna.core: listed twice: {', '.join(twice)}")
    there = {str(file.relative_to(RTL)) for folder in FOLDERS for file in (RTL / folder).glob("*.sv")}
    if missing := sorted(there - set(listed)):
        sys.exit(f"lacuna.core: not listed: {', '.join(missing)}")
    if gone := [file for file in listed if not (RTL / file).is_file()]:
        sys.exit(f"lacuna.core: does not exist: {', '.join(gone)}")
    for name, target in core["targets"].items():
        files = [str(RTL / file) for fileset in target["filesets"] for file in core["filesets"][fileset]["files"]]
        # Waivers come first, as FuseSoC passes them; a target without them is elaborated, not linted.
        files.sort(key=lambda file: not file.endswith(".vlt"))
        options = target.get("tools", {}).get("verilator", {}).get("verilator_options", ["-Wno-lint", "-Wno-fatal"])
        run = subprocess.run(["verilator", "--lint-only", *options, *SMALL.get(target["toplevel"], []), *files, "--top-module",
                              target["toplevel"]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False)
        if run.returncode != 0 or "%Error" in run.stdout:
            sys.exit(f"lacuna.core: target {name}:\n{run.stdout}")
        print(f"{name}: {len(files)} files, {target['toplevel']}")


if __name__ == "__main__":
    main()
