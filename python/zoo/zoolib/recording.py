"""Traces at given points of a training, and their rows in a manifest like data/MANIFEST.csv."""

import csv
import hashlib
import os
from typing import Dict, List

from .errors import ZooError

COLUMNS = (
    *("file", "model", "data", "progress", "epoch", "samples", "batch", "accuracy", "loss", "layers"),
    *("bytes", "sha256"),
)


def steps_of_points(points: List[int], steps: int) -> Dict[int, int]:
    """{step: percent}: the step that ends each share of the training, from 1."""
    chosen = {max(1, round(percent * steps / 100)): percent for percent in sorted(points)}
    if len(chosen) < len(points):
        raise ZooError(f"{len(points)} points do not fit into {steps} steps; train longer or record fewer (--points)")
    return chosen


def parse_points(text: str) -> List[int]:
    try:
        points = sorted({int(part) for part in text.split(",")})
    except ValueError:
        points = []
    if not points or points[0] < 0 or points[-1] > 100:
        raise ZooError(f"--points {text}: not a list of percentages such as 2,10,30,50,75,100")
    return points


def add_row(folder: str, path: str, values: Dict[str, object]) -> None:
    """Write the row of a trace into FOLDER/MANIFEST.csv, in place of an older row of the same file."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)
    row = {column: "" for column in COLUMNS}
    row.update({key: str(value) for key, value in values.items()})
    row.update(file=os.path.basename(path), bytes=str(os.path.getsize(path)), sha256=digest)
    manifest = os.path.join(folder, "MANIFEST.csv")
    rows = [other for other in _read(manifest) if other["file"] != row["file"]]
    rows.append(row)
    rows.sort(key=lambda one: one["file"])
    partial = manifest + ".part"
    with open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(partial, manifest)


def _read(manifest: str) -> List[Dict[str, str]]:
    if not os.path.exists(manifest):
        return []
    with open(manifest, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ZooError(f"{manifest}: its columns are not those of a manifest of traces; choose another --out")
        return list(reader)


def _digest(file) -> str:
    state = hashlib.sha256()
    for block in iter(lambda: file.read(1 << 20), b""):
        state.update(block)
    return state.hexdigest()
