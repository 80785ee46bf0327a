"""Train two transformer blocks whose layer norm is written out of tensor operations.

    python norm_by_hand.py [--fused] [--steps N] [--batch N] [--length N] [--width N]

With --fused the norm is PyTorch's own: one operator where there are nine.  Runs in bf16 on a GPU
where there is one, else in fp32 on the CPU.
"""

import argparse

import torch
from torch import nn
from torch.nn import functional

EPS = 1e-5


class NormByHand(nn.Module):
    """y = (x - mean) / sqrt(variance + eps) * gamma + beta over the last dimension."""

    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))
        self.beta = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        """(batch, length, width) -> the same."""
        centered = x - x.mean(dim=-1, keepdim=True)
        variance = (centered * centered).mean(dim=-1, keepdim=True)
        return centered * torch.rsqrt(variance + EPS) * self.gamma + self.beta


class Block(nn.Module):
    """Causal attention and a feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self, width, heads, norm):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = norm(width), norm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        """(batch, length, width) -> the same."""
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


def main():
    """Some steps of plain gradient descent on noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--width", type=int, default=2048)
    given = parser.parse_args()
    gpu = torch.cuda.is_available()
    device, dtype = ("cuda", torch.bfloat16) if gpu else ("cpu", torch.float32)
    torch.manual_seed(0)
    norm = nn.LayerNorm if given.fused else NormByHand
    blocks = [Block(given.width, given.width // 128, norm) for _ in range(2)]
    model = nn.Sequential(*blocks).to(device, dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(given.batch, given.length, given.width, device=device, dtype=dtype)
    for _ in range(given.steps):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
