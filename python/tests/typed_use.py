"""A user's program, for types: every way in, with the types that its results are used as."""

from typing import Any, Dict, List

import torch
from torch import nn

import lacuna


def train_and_look(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    criterion = nn.CrossEntropyLoss()
    with lacuna.capture(model, "step.safetensors", samples=2, metadata={"epoch": 1}) as step:
        criterion(model(images), labels).backward()
    names: List[str] = step.layers
    recorded = lacuna.capture(model)

    @recorded
    def train_step(count: int) -> float:
        loss = criterion(model(images), labels)
        loss.backward()
        return float(loss.item()) * count

    first: float = train_step(len(names))
    assert recorded.step is not None

    result: lacuna.Result = lacuna.simulate(recorded.step, ["dense", "tensordash"], {"rows": 8}, energy=True)
    totals: List[Dict[str, Any]] = result.totals()
    trace: lacuna.Trace = lacuna.read_trace("step.safetensors")
    zeros: float = trace["0"].zeros("A")

    with lacuna.converted(model, only="0") as faster:
        faster(images)

    @lacuna.converted(model)
    def converted_step(count: int) -> torch.Tensor:
        output: torch.Tensor = criterion(model(images), labels) * count
        return output

    last: torch.Tensor = converted_step(2)
    report: lacuna.ConversionReport = lacuna.report(lacuna.convert(model, deterministic=True))
    text: str = str(report)
    lacuna.unconvert(model)

    with lacuna.Profiler(model, ["tensordash"], every=10) as profiler:
        profiler.step()
        rows: List[Dict[str, Any]] = profiler.to_dicts()
    weights: Dict[str, torch.Tensor] = lacuna.load_weights("weights.safetensors")
    lacuna.save_weights(model, "weights.safetensors")
    lacuna.save_network(model, "network.yaml", image=(3, 32, 32))
    machines: List[Dict[str, Any]] = lacuna.machines()
    return zeros + first + float(last.item()) + len(totals) + len(rows) + len(weights) + len(text) + len(machines)
