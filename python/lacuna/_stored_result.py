"""Results without the library: as they are pickled, and as a notebook shows them."""

import html
import zlib
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from ._files import write_text
from .errors import SimulationError

_WIDTHS = (0, 80, 100, 120, 160, 240)  # columns of the tables that are kept; 0: as the program has it


@dataclass
class StoredResult:
    """Everything that a `lacuna_result` says, as text."""

    jsons: List[str]  # without and with layers
    csv_text: str
    tables: List[Dict[int, str]]  # without and with layers: by width
    page: Optional[bytes]  # compressed; None: the library has no page
    rows: List[Dict[str, Any]]

    @classmethod
    def of(cls, handle: Any, command: str) -> "StoredResult":
        if isinstance(handle, cls):
            return handle
        try:
            page: Optional[bytes] = zlib.compress(handle.html(command).encode())
        except SimulationError:
            page = None
        jsons = [handle.json(False), handle.json(True)]
        tables = [{width: handle.table(layers, width) for width in _WIDTHS} for layers in (False, True)]
        return cls(jsons, handle.csv(), tables, page, handle.totals())

    # As ResultHandle has them.

    def totals(self) -> List[Dict[str, Any]]:
        return self.rows

    def json(self, layers: bool) -> str:
        return self.jsons[layers]

    def csv(self) -> str:
        return self.csv_text

    def table(self, layers: bool, width: int) -> str:
        width = width and max(width, 80)
        return self.tables[layers][max(kept for kept in _WIDTHS if kept <= width)]

    def html(self, command: str) -> str:
        if self.page is None:
            raise SimulationError("the library that made this result was built without the page")
        return zlib.decompress(self.page).decode()

    def write_html(self, command: str, path: str) -> None:
        write_text(path, self.html(command))


def summary(rows: List[Dict[str, Any]]) -> str:
    """A small table of `Result.totals()` for a notebook: a bar for each speedup."""
    longest = max([row["speedup"] for row in rows] + [1.0])
    energy = any("energy_chip_efficiency" in row for row in rows)
    heads = ["trace", "machine", "cycles", "speedup from zeros", "speedup", ""] + energy * ["energy efficiency"]
    cells = "".join(f"<th style='text-align: left'>{head}</th>" for head in heads)
    lines = [f"<tr>{cells}</tr>"]
    for row in rows:
        zeros, all_of_it = (f"{100 * max(0.0, row[key]) / longest:.1f}%" for key in ("speedup_from_zeros", "speedup"))
        bar = (
            "<div style='width: 160px; background: linear-gradient(#9bbbe0, #9bbbe0) left / "
            f"{all_of_it} 100% no-repeat'><div style='width: {zeros}; height: 1em; background: #2d6db5'></div></div>"
        )
        texts = [row["model"], row["arch"]]
        numbers = [f"{row['cycles_per_batch']:,.0f}", f"{row['speedup_from_zeros']:.2f}x", f"{row['speedup']:.2f}x"]
        line = "".join(f"<td style='text-align: left'>{html.escape(text)}</td>" for text in texts)
        line += "".join(f"<td>{number}</td>" for number in numbers) + f"<td>{bar}</td>"
        if energy:
            line += f"<td>{row['energy_chip_efficiency']:.2f}x</td>" if "energy_chip_efficiency" in row else "<td></td>"
        lines.append(f"<tr>{line}</tr>")
    hint = "<p><code>print(result)</code>: all tables. <code>result.save_html('report.html')</code>: with charts.</p>"
    return f"<table>{''.join(lines)}</table>{hint}"
