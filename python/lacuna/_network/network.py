"""lacuna.save_network: what torch.fx traces, as the chains, sums and concatenations of a network description.

A sum or a concatenation ends branches that begin at one tensor: the last one that all paths to its inputs pass through,
which is their nearest common dominator in the graph.
"""

import contextlib
import copy
import io
import json
import os
import re
from typing import Any, BinaryIO, Dict, List, Optional, Sequence, Set, Tuple

import torch
from torch import nn

from .parts import Options, inputs_of, is_tensor, layer_of, shape_of
from .._trace.container import write_whole
from ..errors import NetworkError


# Layers with their options; those of sums and concatenations are their branches, chains themselves.
Chain = List[Tuple[str, Any]]


class Part:
    """A node of the graph: a layer, its options and the parts that it reads."""

    def __init__(self, name: str, word: str, options: Options, inputs: "List[Part]") -> None:
        self.name, self.word, self.options, self.inputs = name, word, options, inputs
        # The last part that every path from the input to here passes through; the input's is itself.
        self.dominator: Part = _common(inputs) if inputs else self
        self.depth: int = self.dominator.depth + 1 if inputs else 0


def _common(parts: Sequence[Part]) -> Part:
    """Return the last part that all paths to `parts` pass through."""
    found = parts[0]
    for other in parts[1:]:
        while found is not other:
            if found.depth >= other.depth:
                found = found.dominator
            else:
                other = other.dominator
    return found


def save_network(model: nn.Module, path: str, image: Sequence[int] = (3, 32, 32)) -> None:
    """Write a model as a network description for `lacuna train --model PATH`.

    >>> lacuna.save_network(model, "net.yaml")
    >>> lacuna.save_weights(model, "net.safetensors")  # lacuna train --model net.yaml --init net.safetensors

    torch.fx traces the model for images of the given channels, height and width. Layers get the names of its modules, so
    that weights travel both ways (`lacuna.load_weights`). Raises NetworkError for what `lacuna train` does not have.
    """
    if not isinstance(model, nn.Module):
        raise NetworkError(f"save_network takes a torch.nn.Module, not {type(model).__name__}; give it the model itself")
    if len(image) != 3 or image[1] != image[2]:
        raise NetworkError(f"image is {tuple(image)}; give channels, height and width of square images: (3, 32, 32)")
    result = _last_part(model, image)
    classes = _classes(result)
    lines = [
        f"model: {_text(os.path.splitext(os.path.basename(path))[0] or 'network')}",
        f"about: {_text(type(model).__name__ + ', from PyTorch')}",
        f"parameters: {{size: {image[1]}, channels: {image[0]}, classes: {classes}}}",
        "layers:",
        *_lines(_Chains().between(None, result), "  "),
    ]
    text = ("\n".join(lines) + "\n").encode()

    def write(file: BinaryIO) -> None:
        file.write(text)

    write_whole(path, len(text), write)


def _last_part(model: nn.Module, image: Sequence[int]) -> Part:
    """Trace the model; the part that computes its result."""
    from torch.fx.passes.shape_prop import ShapeProp

    own = copy.deepcopy(model).cpu().float().eval()  # batch norm keeps its statistics
    try:
        traced = torch.fx.symbolic_trace(own)
        with torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):  # it prints what it raises
            ShapeProp(traced).propagate(torch.zeros(2, *image))
    except Exception as error:  # whatever the model's own code raises
        first = str(error).strip().split("\n")[0].split(". ")[0]
        raise NetworkError(f"torch.fx cannot trace {type(model).__name__} on images {tuple(image)}: {first}") from error
    modules = dict(traced.named_modules())
    parts: Dict[torch.fx.Node, Part] = {}
    used: Set[str] = set()
    for node in traced.graph.nodes:
        if node.op == "output":
            results = inputs_of(node)
            if len(results) != 1 or isinstance(node.args[0], (list, tuple, dict)):
                raise NetworkError(f"{type(model).__name__} returns several results; return the logits alone")
            if len(shape_of(results[0])) != 2:
                shape = "x".join(map(str, shape_of(results[0])[1:]))
                raise NetworkError(f"{type(model).__name__} returns {shape} values per image; return one per class")
            return parts[results[0]]
        if not is_tensor(node):
            continue  # a size
        if node.op == "placeholder":
            parts[node] = Part("", "", {}, [])
            continue
        module = modules[node.target] if node.op == "call_module" else None
        layer = layer_of(node, module)
        inputs = [parts[one] for one in inputs_of(node)]
        if layer is None:
            parts[node] = inputs[0]
            continue
        word, options = layer
        if module is not None and list(module.parameters()):
            if node.target in used:
                raise NetworkError(f"'{node.target}' is called twice; `lacuna train` shares no weights")
            used.add(node.target)
            options = {"name": node.target, **options}
        concatenates = word == "concat"
        parts[node] = _concatenated(parts, inputs) if concatenates else Part(node.name, word, options, inputs)
    raise NetworkError(f"{type(model).__name__} has no result")


def _concatenated(parts: Dict[torch.fx.Node, Part], inputs: List[Part]) -> Part:
    """Take the longest beginning that was concatenated before for one input: dense blocks concatenate all again."""
    if len(inputs) == 1:
        return inputs[0]
    before = {id(part): part for part in parts.values() if part.word == "concat"}
    for part in sorted(before.values(), key=lambda part: -len(part.options["of"])):
        of = part.options["of"]
        if len(of) <= len(inputs) and all(a is b for a, b in zip(of, inputs)):
            if len(of) == len(inputs):
                return part
            return Part("concat", "concat", {"of": inputs}, [part, *inputs[len(of) :]])
    return Part("concat", "concat", {"of": inputs}, inputs)


def _classes(result: Part) -> int:
    """Let the last product take the number of classes from the data; the number now."""
    part = result
    while part.word not in ("conv", "linear"):
        if len(part.inputs) != 1:
            raise NetworkError("the model does not end in a layer with one output per class")
        part = part.inputs[0]
    classes: int = part.options["out"]
    part.options = {**part.options, "out": "$classes"}
    return classes


class _Chains:
    """Parts as nested lists of lines, each part once."""

    def __init__(self) -> None:
        self._written: Set[int] = set()

    def between(self, start: Optional[Part], end: Part) -> Chain:
        """Layers from behind `start` (None: the input) to `end`."""
        found: Chain = []
        while end is not start and end.inputs:
            if id(end) in self._written:
                raise NetworkError(f"the result of {end.name} is used by paths that `lacuna train` cannot nest")
            self._written.add(id(end))
            if end.word in ("add", "concat"):
                begin = _common(end.inputs)
                found.append((end.word, [self.between(begin, part) for part in end.inputs]))
                end = begin
            else:
                found.append((end.word, end.options))
                end = end.inputs[0]
        return found[::-1]


def _lines(layers: Chain, indent: str) -> List[str]:
    lines: List[str] = []
    for word, options in layers:
        if word == "add":
            body, shortcut = sorted(options, key=len, reverse=True)
            lines += [f"{indent}- residual:", f"{indent}    body:{'' if body else ' []'}", *_lines(body, indent + "      ")]
            if shortcut:
                lines += [f"{indent}    shortcut:", *_lines(shortcut, indent + "      ")]
        elif word == "concat":
            lines.append(f"{indent}- concat:")
            for branch in options:
                lines += [f"{indent}    -{'' if branch else ' []'}", *_lines(branch, indent + "      ")]
        elif options.get("global"):
            lines.append(f"{indent}- {word}: global")
        elif options:
            lines.append(f"{indent}- {word}: {{{', '.join(f'{k}: {_text(v)}' for k, v in options.items())}}}")
        else:
            lines.append(f"{indent}- {word}")
    return lines


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and not re.fullmatch(r"\$?[\w.-]+", value):
        return json.dumps(value)
    return str(value)
