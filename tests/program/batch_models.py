"""Small models for one question: what does a step need with another batch?

Each takes a batch and returns a module and its loss; sizes coincide with the batch on purpose where
the name says so.
"""

import torch
from torch import nn
from torch.nn import functional

import roofline as rl

S = 7  # positions


def mlp(b, width=48):
    m = nn.Sequential(
        nn.Linear(24, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, 10)
    )  # fmt: skip
    x, y = torch.randn(b, 24), torch.randint(0, 10, (b,))
    return m, lambda: functional.cross_entropy(m(x), y)


def as_wide_as_the_batch(b):
    """Every size is 4, and the gradient of a mean is one number in the shape of the batch."""
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    x = torch.randn(b, 4)
    return m, lambda: m(x).pow(2).mean()


def cnn(b):
    m = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(150, 10),
    )  # fmt: skip
    x, y = torch.randn(b, 3, 10, 10), torch.randint(0, 10, (b,))
    return m, lambda: functional.cross_entropy(m(x), y)


def cnn_of_four_channels(b):
    m = nn.Sequential(
        nn.Conv2d(4, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU(), nn.Dropout(0.1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 4),
    )  # fmt: skip
    x, y = torch.randn(b, 4, 8, 8), torch.randn(b, 4)
    return m, lambda: functional.mse_loss(m(x), y)


class Block(nn.Module):
    """Embedding, attention and feed-forward of width `d` with `h` heads."""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.token, self.place = nn.Embedding(50, d), nn.Embedding(S, d)
        self.norm, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.head = nn.Linear(d, 50, bias=False)

    def forward(self, tokens):
        b, s = tokens.shape
        x = self.token(tokens) + self.place(torch.arange(s))
        q, k, v = self.qkv(self.norm(x)).view(b, s, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, s, -1))
        return self.head(x + self.ff(self.norm2(x)))


def transformer(b, d=24, h=3):
    m = Block(d, h)
    tokens, y = torch.randint(0, 50, (b, S)), torch.randint(0, 50, (b, S))
    return m, lambda: functional.cross_entropy(m(tokens).flatten(0, 1), y.flatten())


def transformer_as_wide_as_its_rows(b):
    """d = 28 = 4 x 7: rows of activations and width of weights are one number."""
    return transformer(b, 28, 4)


def attention_by_hand(b):
    """Chunks, a mask, products of three dimensions, cat, an expanded gradient."""
    q, o = nn.Linear(28, 84), nn.Linear(28, 28)
    x = torch.randn(b, S, 28)

    def loss():
        h, k, v = q(x).chunk(3, -1)
        mask = torch.triu(torch.full((S, S), float("-inf")), 1)
        scores = (h @ k.transpose(1, 2) / 28**0.5 + mask).softmax(-1)
        y = torch.cat([o(scores @ v) + x] * 2, 1)
        return ((y - y.mean(-1, keepdim=True)) * torch.rand(b, 1, 1)).sum()

    return nn.ModuleList([q, o]), loss


def lstm(b):
    layer, head = nn.LSTM(12, 20, batch_first=True), nn.Linear(20, 10)
    x, y = torch.randn(b, S, 12), torch.randint(0, 10, (b,))
    return nn.ModuleList([layer, head]), lambda: functional.cross_entropy(
        head(layer(x)[0][:, -1]), y
    )


def lstm_by_position(b):
    """Positions first, samples second."""
    layer, head = nn.LSTM(12, 20), nn.Linear(20, 10)
    x, y = torch.randn(S, b, 12), torch.randint(0, 10, (b,))
    return nn.ModuleList([layer, head]), lambda: functional.cross_entropy(head(layer(x)[0][-1]), y)


def gru_of_four(b):
    """States of 2 x 4 x 4: layers, samples, width; nothing says which four is the batch."""
    layer = nn.GRU(12, 4, num_layers=2)
    x = torch.randn(S, b, 12)

    def loss():
        outputs, _ = layer(x)
        return outputs.sum()

    return layer, loss


MODELS = (
    mlp, as_wide_as_the_batch, cnn, cnn_of_four_channels, transformer,
    transformer_as_wide_as_its_rows, attention_by_hand, lstm,
)  # fmt: skip


def recorded(make, b, *, train=True, optimizer=torch.optim.SGD):
    """Three steps of a model with `b` samples."""
    torch.manual_seed(0)
    module, loss = make(b)
    update = optimizer(module.parameters(), lr=1e-3)
    with rl.profile() as run:
        for _ in range(3):
            if train:
                update.zero_grad()
                loss().backward()
                update.step()
            else:
                with torch.no_grad():
                    loss()
                run.step()
    return run.run
