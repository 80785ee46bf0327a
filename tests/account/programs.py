"""Small programs as people write them."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """A transformer block."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2)
            for t in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Language(nn.Module):
    """Embedding, blocks, a head."""

    def __init__(self, depth=2):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.blocks = nn.Sequential(*(Block() for _ in range(depth)))
        self.head = nn.Linear(32, 50)

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


class Pictures(nn.Module):
    """A small convolutional network."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2, groups=2), nn.GroupNorm(4, 16),
            nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.features(x))


def training(model, x, target, optimizer):
    """One step as a function."""

    def step():
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x).flatten(0, -2), target.flatten())
        loss.backward()
        optimizer.step()

    step()  # the optimizer's state exists from the second step on
    return step


def language_training():
    torch.manual_seed(0)
    model, tokens = Language(), torch.randint(0, 50, (2, 8))
    return training(model, tokens, tokens, torch.optim.AdamW(model.parameters(), lr=1e-3))


def pictures_training():
    torch.manual_seed(0)
    model, x = Pictures(), torch.randn(4, 3, 16, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return training(model, x, torch.randint(0, 10, (4,)), optimizer)
