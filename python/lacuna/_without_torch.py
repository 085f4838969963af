"""Functions and classes that need PyTorch, where it is not installed: with their help, and an error when called."""

import ast
import importlib.util

_HINT = "needs PyTorch 1.13 or later, which is not installed: 'pip install torch', on Debian 'apt install python3-torch'"


def placeholder(name: str, module: str) -> object:
    """A stand-in for `name` of a module that cannot be imported."""
    with open(importlib.util.find_spec(module).origin, encoding="utf-8") as file:
        source = next(node for node in ast.parse(file.read()).body if getattr(node, "name", None) == name)
    hint = f"lacuna.{name} {_HINT}"

    def missing(*args: object, **kwargs: object) -> None:
        raise ImportError(hint, name="torch")

    own = {"__doc__": f"{hint}\n\n{ast.get_docstring(source)}", "__module__": module, "__qualname__": name}
    if isinstance(source, ast.ClassDef):
        return type(name, (), {**own, "__init__": missing})
    for key, value in own.items():
        setattr(missing, key, value)
    missing.__name__ = name
    return missing
