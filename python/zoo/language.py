#!/usr/bin/env python3
"""Train a language model on running text and record it.

  language.py --model gcn --data ~/wikitext-2
  language.py --model relu_gpt --data ~/wikitext-2 --points 2,100
  language.py --model relu_gpt --data text --text "our documents" --name attention_gpt --hidden 128
  language.py --model relu2_gpt --data ~/debian-text --layers 12 --hidden 768 --context 1024 --batch 32 --bfloat16

models:
  gcn         gated convolutions (Dauphin et al., ICML 2017): no ReLU, hence almost no zeros
  relu_gpt    transformer on byte pairs with ReLU in its feed-forward layers
  relu2_gpt   the same with the square of ReLU
  gelu_gpt    the same with GELU, which leaves no zeros
  relu2_moe   relu2_gpt in which each token goes to two of eight feed-forward layers (--experts)

The text is WikiText-2's (wiki.train.tokens, wiki.valid.tokens), or tokens made by debian_text.py (train.npy, valid.npy).
"""

import sys
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

from zoolib.attention import attention
from zoolib.errors import ZooError
from zoolib.text import BytePairs, Vocabulary, open_tokens, open_wikitext
from zoolib.training import Task, check_options, run_script, script_parser, train


class GatedConvolutions(nn.Module):
    """Predicts the tokens after the first `reach`, so that no convolution sees padding."""

    def __init__(self, tokens: int, size: int, layers: int):
        super().__init__()
        self.embed = nn.Embedding(tokens, max(2, size * 35 // 64))  # 280 for 512
        sizes = [self.embed.embedding_dim] + [size] * layers
        self.convs = nn.ModuleList(nn.Conv1d(c, 2 * k, 4) for c, k in zip(sizes, sizes[1:]))
        self.out = nn.Linear(size, tokens)
        self.reach = 3 * layers

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens).transpose(1, 2)
        for conv in self.convs:
            y = F.glu(conv(x), 1)
            x = x[..., 3:] + y if x.shape[1] == y.shape[1] else y
        return self.out(x.transpose(1, 2))


class FeedForward(nn.Module):
    def __init__(self, size: int, activation: Callable[[torch.Tensor], torch.Tensor]):
        super().__init__()
        self.fc1 = nn.Linear(size, 4 * size)
        self.fc2 = nn.Linear(4 * size, size)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.activation(self.fc1(x)))


class Experts(nn.Module):
    """Feed-forward layers of which each token takes the two that its router likes best."""

    def __init__(self, size: int, activation: Callable[[torch.Tensor], torch.Tensor], count: int):
        super().__init__()
        self.router = nn.Linear(size, count, bias=False)
        self.experts = nn.ModuleList(FeedForward(size, activation) for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.flatten(0, 1)
        best, chosen = self.router(rows).topk(2)
        shares = best.softmax(-1)
        result = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            row, place = (chosen == number).nonzero(as_tuple=True)
            if len(row):
                result = result.index_add(0, row, (expert(rows[row]) * shares[row, place, None]).to(result.dtype))
        return result.view_as(x)


class Block(nn.Module):
    def __init__(self, size: int, heads: int, feed_forward: nn.Module):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv = nn.Linear(size, 3 * size)
        self.proj = nn.Linear(size, size)
        self.feed_forward = feed_forward

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, length, size = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(attention(q, k, v, causal=True).transpose(1, 2).reshape(n, length, size))
        return x + self.feed_forward(self.norm2(x))


class Gpt(nn.Module):
    """GPT-2's arrangement; the embedding of the tokens is also the last layer's weights."""

    def __init__(self, tokens: int, size: int, layers: int, context: int, activation, experts: int):
        super().__init__()
        self.embed, self.places = nn.Embedding(tokens, size), nn.Embedding(context, size)
        heads = size // 64 if size % 64 == 0 else next(count for count in (6, 4, 2, 1) if size % count == 0)
        feed_forward = lambda: Experts(size, activation, experts) if experts else FeedForward(size, activation)  # noqa: E731
        self.blocks = nn.ModuleList(Block(size, heads, feed_forward()) for _ in range(layers))
        self.norm = nn.LayerNorm(size)
        self.head = nn.Linear(size, tokens, bias=False)
        self.head.weight = self.embed.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


_ACTIVATIONS = {"relu": F.relu, "relu2": lambda x: F.relu(x).square(), "gelu": F.gelu}
MODELS = ("gcn", "relu_gpt", "relu2_gpt", "gelu_gpt", "relu2_moe")


def main(arguments=None):
    parser = script_parser(__doc__, epochs=10, batch=64, lr=1e-3, samples=4)
    parser.set_defaults(points="2,100")
    parser.add_argument("--model", default="gcn", choices=MODELS, help="(default: gcn)")
    parser.add_argument("--vocabulary", type=int, help="words or byte pairs (default: gcn 13776, GPT 4096)")
    parser.add_argument("--context", type=int, help="tokens per sample (default: gcn 64, GPT 128)")
    parser.add_argument("--hidden", type=int, help="channels (default: gcn 512, GPT 384)")
    parser.add_argument("--layers", type=int, default=6, help="(default: 6)")
    parser.add_argument("--experts", type=int, default=8, help="feed-forward layers of relu2_moe (default: 8)")
    parser.add_argument("--text", help="what the text is called (default: WikiText-2, or as its corpus.json says)")
    parser.add_argument("--name", help="of the traces (default: the model)")
    options = parser.parse_args(arguments)
    check_options(options)
    gcn = options.model == "gcn"
    size = options.hidden or (512 if gcn else 384)
    context = options.context or (64 if gcn else 128)
    most = options.vocabulary or (13776 if gcn else 4096)

    numbered = open_tokens(options.data)
    if numbered is not None:
        tokens, test, count, named = numbered
    else:
        named = "WikiText-2"
        words, test_words = open_wikitext(options.data, "train"), open_wikitext(options.data, "valid")
        vocabulary = Vocabulary([words], most) if gcn else BytePairs(words, most)
        count = len(vocabulary)
        tokens, test = (torch.tensor(vocabulary.encode(part)) for part in (words, test_words))
    for part, length in (("train", len(tokens)), ("valid", len(test))):
        if length <= context:
            sizes = f"{length} tokens in '{part}' are not more than a context of {context}"
            raise ZooError(f"{options.data}: {sizes}; give a smaller --context")
    if gcn:
        model = GatedConvolutions(count, size, options.layers)
    else:
        activation, kind = options.model.split("_")
        experts = options.experts if kind == "moe" else 0
        model = Gpt(count, size, options.layers, context, _ACTIVATIONS[activation], experts)
    model.to(options.device)
    reach = model.reach if gcn else 0

    def loss(batch: torch.Tensor) -> torch.Tensor:
        batch = batch.to(options.device)
        return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1 + reach :].flatten())

    def windows(source: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        return source[starts[:, None] + torch.arange(context + 1)].long()

    def batches():
        generator = torch.Generator().manual_seed(options.seed)
        while True:
            yield windows(tokens, torch.randint(0, len(tokens) - context, (options.batch,), generator=generator))

    def score():
        starts = torch.arange(0, len(test) - context, context)[: options.test]
        parts = starts.split(options.batch)
        return {"loss": sum(float(loss(windows(test, part))) * len(part) for part in parts) / len(starts)}

    optimizer = torch.optim.AdamW(model.parameters(), options.lr)
    data = f"{options.text or named} ({len(tokens)} {'words' if gcn and numbered is None else 'byte-pair tokens'})"
    epoch = max(1, len(tokens) // (options.batch * context))
    train(Task(options.name or options.model, data, model, batches(), loss, score, epoch, optimizer), options)


if __name__ == "__main__":
    sys.exit(run_script(main))
