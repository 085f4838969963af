#!/usr/bin/env python3
"""Train a classifier of sentence pairs on SNLI and record it.

  snli.py --data ~/snli_1.0                                          512 pairs per step, the end of 5 epochs
  snli.py --data ~/snli_1.0 --pairs 50000 --points 2,50,100

A projection of the words, an LSTM over the sentence, three linear layers with ReLU on both sentences' states, their
distance and their product.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

from zoolib.errors import ZooError
from zoolib.text import PAD, Vocabulary, open_snli, padded
from zoolib.training import Task, check_options, run_script, script_parser, train


class SentencePairs(nn.Module):
    def __init__(self, words: int, size: int):
        super().__init__()
        self.embed = nn.Embedding(words, size, padding_idx=PAD)
        self.project = nn.Linear(size, size)
        self.encoder = nn.LSTM(size, size, batch_first=True)
        self.fc1, self.fc2, self.fc3 = (nn.Linear(4 * size, 4 * size) for _ in range(3))
        self.out = nn.Linear(4 * size, 3)

    def state(self, sentence: torch.Tensor) -> torch.Tensor:
        states, _ = self.encoder(F.relu(self.project(self.embed(sentence))))
        last = (sentence != PAD).sum(1).clamp(min=1) - 1
        return states[torch.arange(len(sentence), device=sentence.device), last]

    def forward(self, premise: torch.Tensor, hypothesis: torch.Tensor) -> torch.Tensor:
        p, h = self.state(premise), self.state(hypothesis)
        x = torch.cat((p, h, (p - h).abs(), p * h), 1)
        for layer in (self.fc1, self.fc2, self.fc3):
            x = F.relu(layer(x))
        return self.out(x)


def main(arguments=None):
    parser = script_parser(__doc__, epochs=5, batch=512, lr=0.05, samples=16)
    parser.set_defaults(points="100")
    parser.add_argument("--pairs", type=int, default=550000, help="pairs to train on (default: all)")
    parser.add_argument("--length", type=int, default=24, help="words per sentence (default: 24)")
    parser.add_argument("--vocabulary", type=int, default=20000, help="words that are known (default: 20000)")
    parser.add_argument("--hidden", type=int, default=300, help="size of words and states (default: 300)")
    options = parser.parse_args(arguments)
    check_options(options)

    premises, hypotheses, labels = open_snli(options.data, "train", options.pairs)
    test = open_snli(options.data, "dev", options.test)
    if len(labels) < options.batch:
        sizes = f"{len(labels)} pairs are fewer than a batch of {options.batch}"
        raise ZooError(f"{options.data}: {sizes}; give a smaller --batch")
    vocabulary = Vocabulary(premises + hypotheses, options.vocabulary)

    def encoded(sentences) -> torch.Tensor:
        return padded([vocabulary.encode(sentence) for sentence in sentences], options.length)

    first, second = encoded(premises), encoded(hypotheses)
    test_first, test_second, test_labels = encoded(test[0]), encoded(test[1]), test[2]
    model = SentencePairs(len(vocabulary), options.hidden).to(options.device)

    def batches():
        generator = torch.Generator().manual_seed(options.seed)
        while True:
            for chosen in torch.randperm(len(labels), generator=generator).split(options.batch):
                if len(chosen) == options.batch:
                    yield tuple(part[chosen].to(options.device) for part in (first, second, labels))

    def score():
        right = 0
        for part in torch.arange(len(test_labels)).split(options.batch):
            guess = model(test_first[part].to(options.device), test_second[part].to(options.device)).argmax(1)
            right += int((guess.cpu() == test_labels[part]).sum())
        return {"accuracy": right / len(test_labels)}

    optimizer = torch.optim.SGD(model.parameters(), options.lr, momentum=0.9)
    loss = lambda batch: F.cross_entropy(model(batch[0], batch[1]), batch[2])  # noqa: E731
    data = f"SNLI ({len(labels)} training pairs)"
    train(Task("snli", data, model, batches(), loss, score, len(labels) // options.batch, optimizer), options)


if __name__ == "__main__":
    sys.exit(run_script(main))
