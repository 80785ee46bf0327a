"""One layer of a model of 70 billion parameters, to be counted and never run::

roofline account examples/llm_layer.py:layer --backward --device h100-sxm
"""

import torch
from torch import nn
from torch.nn import functional


class Layer(nn.Module):
    """Grouped queries, gated feed-forward."""

    def __init__(self, width=8192, heads=64, groups=8, inner=28672):
        super().__init__()
        like = {"bias": False, "dtype": torch.bfloat16}
        each = width // heads
        self.heads, self.groups = heads, groups
        self.q, self.o = nn.Linear(width, width, **like), nn.Linear(width, width, **like)
        self.k, self.v = (
            nn.Linear(width, groups * each, **like),
            nn.Linear(width, groups * each, **like),
        )
        self.up, self.gate = nn.Linear(width, inner, **like), nn.Linear(width, inner, **like)
        self.down = nn.Linear(inner, width, **like)
        self.norm1, self.norm2 = (
            nn.RMSNorm(width, dtype=torch.bfloat16),
            nn.RMSNorm(width, dtype=torch.bfloat16),
        )

    def forward(self, x):
        """Attention and feed-forward, each added to what came in."""
        batch, length, width = x.shape
        y = self.norm1(x)
        q = self.q(y).view(batch, length, self.heads, -1).transpose(1, 2)
        k = self.k(y).view(batch, length, self.groups, -1).transpose(1, 2)
        v = self.v(y).view(batch, length, self.groups, -1).transpose(1, 2)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def layer():
    """The layer and 8192 tokens, as fake tensors when `roofline account` calls this."""
    return Layer(), torch.empty(1, 8192, 8192, dtype=torch.bfloat16, requires_grad=True)
