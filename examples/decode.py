"""Generate tokens one by one with a key-value cache, as a language model does.

    python decode.py [--tokens N] [--prompt N] [--batch N] [--width N] [--layers N]

Every token reads all weights and the whole cache for a few multiplications each: decoding at a
small batch runs at the speed of memory.  The weights are random; the work is that of a trained one.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 8192
HEAD = 64


class Layer(nn.Module):
    """One layer of a decoder, with its own part of the cache."""

    def __init__(self, width, batch, capacity):
        super().__init__()
        self.norm1 = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.norm2 = nn.RMSNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        cache = torch.zeros(2, batch, width // HEAD, capacity, HEAD)
        self.register_buffer("cache", cache, persistent=False)

    def forward(self, x, position):
        """(batch, new, width) at `position` -> the same; keys and values go into the cache."""
        batch, new, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, new, 3, -1, HEAD).permute(2, 0, 3, 1, 4)
        end = position + new
        self.cache[0, :, :, position:end] = k
        self.cache[1, :, :, position:end] = v
        keys, values = self.cache[:, :, :, :end]
        mixed = functional.scaled_dot_product_attention(q, keys, values, is_causal=new > 1)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, new, width))
        return x + self.down(functional.silu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    """Tokens in, scores of the next token out."""

    def __init__(self, width, layers, batch, capacity):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(Layer(width, batch, capacity) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens, position):
        """(batch, new) at `position` -> (batch, VOCABULARY) after the last of them."""
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x, position)
        return self.head(self.norm(x[:, -1]))


@torch.inference_mode()
def generate(model, prompt, count):
    """`count` tokens after `prompt`, and the seconds that each took; the first reads the prompt."""
    tokens, seconds, position, new = [], [], 0, prompt
    for _ in range(count):
        start = time.perf_counter()
        scores = model(new, position)
        position += new.shape[1]
        new = scores.argmax(dim=-1, keepdim=True)
        tokens.append(new)
        seconds.append(time.perf_counter() - start)
    return torch.cat(tokens, dim=1), seconds


def main():
    """Generate, and print how fast."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=4)
    options = parser.parse_args()

    torch.manual_seed(0)
    capacity = options.prompt + options.tokens
    model = Decoder(options.width, options.layers, options.batch, capacity).eval()
    prompt = torch.randint(VOCABULARY, (options.batch, options.prompt))
    tokens, seconds = generate(model, prompt, options.tokens)

    weights = sum(p.nbytes for p in model.parameters())
    decode = sorted(seconds[1:])[len(seconds[1:]) // 2]
    print(f"{weights / 1e6:.0f} MB of weights, {tokens.shape[1]} tokens generated")
    print(f"prompt of {options.prompt}: {seconds[0] * 1e3:.1f} ms")
    print(f"each token after it: {decode * 1e3:.1f} ms (median), {options.batch / decode:.1f}/s")


if __name__ == "__main__":
    main()
