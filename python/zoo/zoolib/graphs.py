"""Graphs of papers with words and citations, in the format of Cora: NAME.content and NAME.cites."""

import os
from typing import Dict, List, Tuple

import torch

from .errors import ZooError, need

CORA_REMEDY = "download Cora (cora.tgz), unpack it and give the folder with cora.content and cora.cites"


def open_graph(folder: str) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor, str]:
    """Features [N, C], labels [N], edges [2, E] in both directions with each node's own, and the graph's name."""
    need(folder, "the data set", CORA_REMEDY)
    names = sorted(name[: -len(".content")] for name in os.listdir(folder) if name.endswith(".content"))
    if not names:
        raise ZooError(f"{folder}: no NAME.content in it; {CORA_REMEDY}")
    path = os.path.join(folder, names[0] + ".content")
    nodes: Dict[str, int] = {}
    rows: List[List[float]] = []
    classes: List[str] = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            node, *words, label = line.split() or [""] * 2
            try:
                rows.append([float(word) for word in words])
            except ValueError as error:
                raise ZooError(f"{path}:{number}: a feature is not a number; download it again") from error
            if not words or len(rows[-1]) != len(rows[0]):
                sizes = f"{len(words)} features, the first line has {len(rows[0])}"
                raise ZooError(f"{path}:{number}: {sizes}; download it again")
            nodes[node] = len(nodes)
            classes.append(label)
    if len(rows) < 2:
        raise ZooError(f"{path}: fewer than two papers; {CORA_REMEDY}")
    known = {label: number for number, label in enumerate(sorted(set(classes)))}
    labels = torch.tensor([known[label] for label in classes])
    cites = need(os.path.join(folder, names[0] + ".cites"), "the list of citations", CORA_REMEDY)
    edges = {(node, node) for node in range(len(nodes))}
    with open(cites, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            ends = line.split()
            if len(ends) != 2:
                raise ZooError(f"{cites}:{number}: not two papers; download it again")
            if ends[0] in nodes and ends[1] in nodes:  # some graphs cite papers that are not in them
                one, other = nodes[ends[0]], nodes[ends[1]]
                edges |= {(one, other), (other, one)}
    features = torch.tensor(rows)
    features = features / features.sum(1, keepdim=True).clamp(min=1)
    return features, labels, torch.tensor(sorted(edges)).t().contiguous(), names[0]
