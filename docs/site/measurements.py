"""Measurements in docs/results/data: one CSV file per table, with where, when and how each row was measured.

The columns `machine`, `date`, `commit` and `command` say that; all others are the measurement. A table in a page is written
between two comments, from the file and a layout:

    <!-- table: docs/results/data/training-speed/zen4.csv
    network
    over PyTorch <- {speedup}x
    zeros A / G <- {zeros A} / {zeros G} %
    only threads = 2
    -->
    ...
    <!-- end of table -->

A line of the layout is a column of the file, or a heading with a template of columns, or a condition on the rows. Without
columns the table shows all of them. A text in the first column that repeats the row above is left out.
"""
import csv
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROVENANCE = ("machine", "date", "commit", "command")
TABLE = re.compile(r"<!-- table: (?P<file>\S+)(?P<layout>.*?)-->\n(?P<body>.*?)<!-- end of table -->", re.DOTALL)
PLACE = re.compile(r"\{([^{}]+)\}")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


class Problem(Exception):
    """A file or a layout that no table can be made of."""


def read(path):
    """The rows of a CSV file, as dictionaries. Every row says where, when and how it was measured."""
    path = ROOT / path
    if not path.is_file():
        raise Problem(f"{path.relative_to(ROOT)} does not exist")
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise Problem(f"{path.relative_to(ROOT)}:{number}: not as many cells as columns")
        for column in PROVENANCE:
            if not row.get(column):
                raise Problem(f"{path.relative_to(ROOT)}:{number}: no {column}")
    if not rows:
        raise Problem(f"{path.relative_to(ROOT)}: no rows")
    return rows


def shown(value):
    """A value as tables show it: numbers from 1,000 on with separators."""
    if NUMBER.fullmatch(value) and abs(float(value)) >= 1000:
        decimals = len(value.partition(".")[2])
        return f"{float(value):,.{decimals}f}"
    return value.replace("|", "\\|")


def columns_of(layout, rows):
    """(heading, template) of each column, and the rows that the conditions leave."""
    columns = []
    for line in filter(None, (line.strip() for line in layout.splitlines())):
        if line.startswith("only "):
            column, _, value = line[len("only "):].partition(" = ")
            if column not in rows[0]:
                raise Problem(f"no column '{column}'")
            rows = [row for row in rows if row[column] == value]
            if not rows:
                raise Problem(f"no row with {column} = {value}")
        else:
            heading, arrow, template = line.partition(" <- ")
            columns.append((heading, template if arrow else "{" + line + "}"))
    columns = columns or [(name, "{" + name + "}") for name in rows[0] if name not in PROVENANCE]
    for _, template in columns:
        for name in PLACE.findall(template):
            if name not in rows[0]:
                raise Problem(f"no column '{name}'")
    return columns, rows


def cell(template, row):
    """A template with the row's values; nothing where they are all empty."""
    if not any(row[name] for name in PLACE.findall(template)):
        return ""
    text = PLACE.sub(lambda place: shown(row[place[1]]), template)
    # Numbers that belong together stay on one line.
    return text.replace(" / ", "\u00a0/\u00a0").replace(" %", "\u00a0%") if len(PLACE.findall(template)) > 1 else text


def caption(rows):
    """Where, when and how the rows were measured, in one paragraph."""
    def distinct(column):
        return list(dict.fromkeys(row[column] for row in rows))

    dates = sorted(distinct("date"))
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    # A text in brackets describes what no command repeats.
    how = "; ".join(c[1:-1] if c.startswith("(") else f"`{c}`" for c in distinct("command"))
    text = f"*{'; '.join(distinct('machine'))}, {when}:* {how}"
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def table(file, layout):
    """The Markdown of a table and its caption."""
    rows = read(file)
    columns, rows = columns_of(layout, rows)
    lines = ["| " + " | ".join(heading for heading, _ in columns) + " |", "|---" * len(columns) + "|"]
    above = ""
    for row in rows:
        cells = [cell(template, row) for _, template in columns]
        first, cells[0] = cells[0], "" if cells[0] == above and not NUMBER.fullmatch(above) else cells[0]
        above = first
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n" + caption(rows) + "\n"


def updated(page, text):
    """The text of a page with its tables written from their files."""
    def replace(match):
        try:
            body = table(match["file"], match["layout"])
        except (Problem, csv.Error) as problem:
            line = text.count("\n", 0, match.start()) + 1
            raise Problem(f"{page}:{line}: {match['file']}: {problem}") from problem
        return f"<!-- table: {match['file']}{match['layout']}-->\n\n{body}\n<!-- end of table -->"

    result = TABLE.sub(replace, text)
    if result.count("<!-- table:") != result.count("<!-- end of table -->"):
        raise Problem(f"{page}: a table without an end")
    return result


def pages():
    """The pages that may have tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def unused_files():
    """Files of measurements that no page shows."""
    used = {file for page in pages() for file in re.findall(r"docs/results/data/[\w./-]+\.csv", page.read_text(encoding="utf-8"))}
    files = (path.relative_to(ROOT) for path in sorted((ROOT / "docs/results/data").rglob("*.csv")))
    return [str(path) for path in files if str(path) not in used]
