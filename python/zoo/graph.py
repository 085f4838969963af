#!/usr/bin/env python3
"""Train a graph convolutional network on a graph of citations and record it.

  graph.py --data ~/cora                                             traces graph_pNNN

Kipf and Welling, ICLR 2017: two linear layers, each followed by an average over the neighbours. Every step sees the
whole graph, so a trace holds all nodes. The averages are sums over edges, which a trace does not hold.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

from zoolib.graphs import open_graph
from zoolib.training import Task, check_options, run_script, script_parser, train


class GraphNet(nn.Module):
    def __init__(self, features: int, hidden: int, classes: int, edges: torch.Tensor, nodes: int):
        super().__init__()
        self.conv1 = nn.Linear(features, hidden)
        self.conv2 = nn.Linear(hidden, classes)
        degree = torch.bincount(edges[0], minlength=nodes).float()
        self.register_buffer("edges", edges)
        self.register_buffer("weights", (degree[edges[0]] * degree[edges[1]]).rsqrt()[:, None])

    def spread(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x).index_add(0, self.edges[0], x[self.edges[1]] * self.weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.dropout(F.relu(self.spread(self.conv1(x))), 0.5, self.training)
        return self.spread(self.conv2(x))


def main(arguments=None):
    parser = script_parser(__doc__, epochs=200, batch=None, lr=0.01, samples=None)
    parser.set_defaults(points="2,50,100")
    parser.add_argument("--hidden", type=int, default=16, help="channels between the layers (default: 16)")
    options = parser.parse_args(arguments)
    check_options(options)

    features, labels, edges, name = open_graph(options.data)
    nodes = options.batch = options.samples = len(labels)
    order = torch.randperm(nodes, generator=torch.Generator().manual_seed(options.seed))
    tested, learnt = (part.to(options.device) for part in (order[: nodes // 5 or 1], order[nodes // 5 or 1 :]))
    labels = labels.to(options.device)
    model = GraphNet(features.shape[1], options.hidden, int(labels.max()) + 1, edges, nodes).to(options.device)

    def batches():
        while True:
            yield features.to(options.device)

    def loss(batch: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(batch)[learnt], labels[learnt])

    def score():
        guess = model(features.to(options.device)).argmax(1)
        return {"accuracy": float((guess == labels)[tested].float().mean())}

    optimizer = torch.optim.Adam(model.parameters(), options.lr, weight_decay=5e-4)
    data = f"{name} ({nodes} papers, {(edges.shape[1] - nodes) // 2} citations)"
    train(Task("graph", data, model, batches(), loss, score, 1, optimizer), options)


if __name__ == "__main__":
    sys.exit(run_script(main))
