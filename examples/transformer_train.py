"""Train a small transformer for a few steps: two blocks, forward, backward, AdamW.

    python transformer_train.py [--steps N] [--batch N] [--length N] [--width N]

The model learns to say which token comes next in a repeating sequence, so the loss falls.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 512


class Attention(nn.Module):
    """Causal self-attention with all heads in one projection."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        """(batch, length, width) -> the same."""
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        """(batch, length, width) -> the same."""
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Model(nn.Module):
    """Tokens in, scores of the next token out."""

    def __init__(self, width, heads, length, blocks=2):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens):
        """(batch, length) -> (batch, length, VOCABULARY)."""
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def batches(batch, length):
    """Endless sequences that count upwards from a random start."""
    while True:
        start = torch.randint(VOCABULARY, (batch, 1))
        yield (start + torch.arange(length + 1)) % VOCABULARY


def main():
    """Train, printing the loss and the time of every step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--width", type=int, default=256)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = Model(options.width, options.width // 64, options.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters")

    data = batches(options.batch, options.length)
    for step in range(options.steps):
        start = time.perf_counter()
        sequence = next(data)
        scores = model(sequence[:, :-1])
        loss = functional.cross_entropy(scores.flatten(0, 1), sequence[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.3f}, {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
