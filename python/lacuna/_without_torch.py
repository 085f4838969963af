"""Functions and classes that need PyTorch, where it is not installed or too old: with their help, and an error when called."""

import ast
import importlib.metadata
import importlib.util
from types import ModuleType
from typing import Any, Dict


def _hint() -> str:
    try:
        found = f"this is {importlib.metadata.version('torch')}"
    except importlib.metadata.PackageNotFoundError:
        found = "which is not installed"
    return f"needs PyTorch 1.13 or later, {found}: 'pip install torch', on Debian 'apt install python3-torch'"


def _parse(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    with open(spec.origin if spec and spec.origin else "", encoding="utf-8") as file:
        return ast.parse(file.read())


def placeholder_module(module: str) -> ModuleType:
    """A stand-in for a module that cannot be imported, with a stand-in for each of its classes and functions."""
    source = _parse(module)
    stand_in = ModuleType(module, ast.get_docstring(source))
    for node in source.body:
        name = getattr(node, "name", "_")
        if not name.startswith("_"):
            setattr(stand_in, name, placeholder(name, module))
    return stand_in


def placeholder(name: str, module: str) -> Any:
    """A stand-in for `name` of a module that cannot be imported."""
    source: Any = next(node for node in _parse(module).body if getattr(node, "name", None) == name)
    hint = f"lacuna.{name} {_hint()}"

    def missing(*args: object, **kwargs: object) -> None:
        raise ImportError(hint, name="torch")

    own: Dict[str, Any] = {"__doc__": f"{hint}\n\n{ast.get_docstring(source)}", "__module__": module, "__qualname__": name}
    if isinstance(source, ast.ClassDef):
        return type(name, (), {**own, "__init__": missing})
    for key, value in own.items():
        setattr(missing, key, value)
    missing.__name__ = name
    return missing
