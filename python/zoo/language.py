#!/usr/bin/env python3
"""Train a language model on WikiText-2 and record it.

  language.py --model gcn --data ~/wikitext-2
  language.py --model relu_gpt --data ~/wikitext-2 --points 2,100
  language.py --model relu_gpt --data text --text "our documents" --name attention_gpt --hidden 128

models:
  gcn         gated convolutions over words (Dauphin et al., ICML 2017): no ReLU, hence almost no zeros
  relu_gpt    transformer on byte pairs with ReLU in its feed-forward layers
  relu2_gpt   the same with the square of ReLU
"""

import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

from zoolib.errors import ZooError
from zoolib.text import BytePairs, Vocabulary, open_wikitext
from zoolib.training import Task, check_options, run_script, script_parser, train


class GatedConvolutions(nn.Module):
    def __init__(self, tokens: int, size: int, layers: int):
        super().__init__()
        self.embed = nn.Embedding(tokens, max(2, size * 35 // 64))  # 280 for 512
        sizes = [self.embed.embedding_dim] + [size] * layers
        self.convs = nn.ModuleList(nn.Conv1d(c, 2 * k, 4) for c, k in zip(sizes, sizes[1:]))
        self.out = nn.Linear(size, tokens)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens).transpose(1, 2)
        for conv in self.convs:
            y = F.glu(conv(F.pad(x, (3, 0))), 1)  # sees the past alone
            x = x + y if x.shape == y.shape else y
        return self.out(x.transpose(1, 2))


class Block(nn.Module):
    def __init__(self, size: int, heads: int, squared: bool):
        super().__init__()
        self.heads, self.squared = heads, squared
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv = nn.Linear(size, 3 * size)
        self.proj = nn.Linear(size, size)
        self.fc1 = nn.Linear(size, 4 * size)
        self.fc2 = nn.Linear(4 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, length, size = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(size // self.heads)
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        seen = scores.masked_fill(future, -math.inf).softmax(-1) @ v
        x = x + self.proj(seen.transpose(1, 2).reshape(n, length, size))
        y = F.relu(self.fc1(self.norm2(x)))
        return x + self.fc2(y * y if self.squared else y)


class Gpt(nn.Module):
    def __init__(self, tokens: int, size: int, layers: int, context: int, squared: bool):
        super().__init__()
        self.embed, self.places = nn.Embedding(tokens, size), nn.Embedding(context, size)
        heads = next(count for count in (6, 4, 2, 1) if size % count == 0)
        self.blocks = nn.ModuleList(Block(size, heads, squared) for _ in range(layers))
        self.norm = nn.LayerNorm(size)
        self.head = nn.Linear(size, tokens, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main(arguments=None):
    parser = script_parser(__doc__, epochs=10, batch=64, lr=1e-3, samples=4)
    parser.set_defaults(points="2,100")
    parser.add_argument("--model", default="gcn", choices=("gcn", "relu_gpt", "relu2_gpt"), help="(default: gcn)")
    parser.add_argument("--vocabulary", type=int, help="words or byte pairs (default: gcn 13776, GPT 4096)")
    parser.add_argument("--context", type=int, help="tokens per sample (default: gcn 64, GPT 128)")
    parser.add_argument("--hidden", type=int, help="channels (default: gcn 512, GPT 384)")
    parser.add_argument("--layers", type=int, default=6, help="(default: 6)")
    parser.add_argument("--text", default="WikiText-2", help="what another text in files of these names is called")
    parser.add_argument("--name", help="of the traces (default: the model)")
    options = parser.parse_args(arguments)
    check_options(options)
    gcn = options.model == "gcn"
    size = options.hidden or (512 if gcn else 384)
    context = options.context or (64 if gcn else 128)
    most = options.vocabulary or (13776 if gcn else 4096)

    words, test_words = open_wikitext(options.data, "train"), open_wikitext(options.data, "valid")
    if gcn:
        vocabulary = Vocabulary([words], most)
        count = len(vocabulary)
    else:
        vocabulary = BytePairs(words, most)
        count = vocabulary.size
    tokens, test = (torch.tensor(vocabulary.encode(part)) for part in (words, test_words))
    for part, length in (("train", len(tokens)), ("valid", len(test))):
        if length <= context:
            sizes = f"{length} tokens in '{part}' are not more than a context of {context}"
            raise ZooError(f"{options.data}: {sizes}; give a smaller --context")
    if gcn:
        model = GatedConvolutions(count, size, options.layers)
    else:
        model = Gpt(count, size, options.layers, context, squared=options.model == "relu2_gpt")
    model.to(options.device)

    def loss(batch: torch.Tensor) -> torch.Tensor:
        batch = batch.to(options.device)
        return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    def windows(source: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        return source[starts[:, None] + torch.arange(context + 1)]

    def batches():
        generator = torch.Generator().manual_seed(options.seed)
        while True:
            yield windows(tokens, torch.randint(0, len(tokens) - context, (options.batch,), generator=generator))

    def score():
        starts = torch.arange(0, len(test) - context, context)[: options.test]
        parts = starts.split(options.batch)
        return {"loss": sum(float(loss(windows(test, part))) * len(part) for part in parts) / len(starts)}

    optimizer = torch.optim.AdamW(model.parameters(), options.lr)
    data = f"{options.text} ({len(tokens)} {'words' if gcn else 'byte-pair tokens'})"
    epoch = max(1, len(tokens) // (options.batch * context))
    train(Task(options.name or options.model, data, model, batches(), loss, score, epoch, optimizer), options)


if __name__ == "__main__":
    sys.exit(run_script(main))
