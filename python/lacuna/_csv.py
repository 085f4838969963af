"""Text cells of CSV files that a spreadsheet would run, as the program writes them: with a single quote in front."""

import re

_FORMULA = re.compile(r"'?[=+\-@\t\r\n].")


def guarded(text: str) -> str:
    return "'" + text if _FORMULA.match(text) and not _is_number(text) else text


def unguarded(text: str) -> str:
    return text[1:] if text[:1] == "'" and _FORMULA.match(text[1:]) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
