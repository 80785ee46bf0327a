"""What hardware of a kind runs and moves beyond the formula, by sizes: for people, as `sized` is.

A twin has the parameters of its formula and returns what is known to differ on a GPU's tensor
cores; lines that a CPU fetches to write them follow from the ledger alone.
"""

from collections.abc import Callable, Mapping

from roofline.call import Call, Math, Tensor
from roofline.ops.attending import attention_executed
from roofline.ops.attending.attention import Sizes, band, exactly
from roofline.ops.products.matmul_executed import padded
from roofline.work import Ledger


def gemm(
    m: int,
    n: int,
    k: int,
    dtype: str = "bf16",
    out_dtype: str = "",
    bias: bool = False,
    beta: float = 0.0,
    batch: int = 1,
    math: Math = "ieee",
) -> Ledger | None:
    """2*M*N*K with M, N and K filled up to whole tiles."""
    a, b = Tensor((batch, m, k), dtype), Tensor((batch, k, n), dtype)
    return padded(Call("aten::bmm", (a, b), device="cuda", math=math))


def bmm(b: int, m: int, n: int, k: int, dtype: str = "bf16", out_dtype: str = "") -> Ledger | None:
    """The same, `b` times."""
    return gemm(m, n, k, dtype, batch=b)


def gemv(m: int, k: int, dtype: str = "fp16") -> Ledger | None:
    """A product with one column, where a library uses tensor cores for it."""
    return gemm(m, 1, k, dtype)


def linear(n: int, k: int, m: int, dtype: str = "bf16", bias: bool = True) -> Ledger | None:
    """X[N,K] @ W[M,K]^T."""
    return gemm(n, m, k, dtype)


def attention(
    batch: int,
    heads: int,
    seq_q: int,
    head_dim: int,
    seq_kv: int = 0,
    kv_heads: int = 0,
    causal: bool = False,
    window: int = 0,
    dtype: str = "fp16",
    backward: bool = False,
    math: Math = "ieee",
) -> Ledger | None:
    """Whole tiles of scores, the softmax on them, and in the backward the scores again."""
    keys = seq_kv or seq_q
    seen = batch * band(seq_q, keys, keys - seq_q, window or None, 0 if causal else window or None)
    sizes = Sizes(heads, head_dim, head_dim, exactly(seen), causal, batch=0 if window else batch)
    run = attention_executed.backward if backward else attention_executed.forward
    return run(sizes, dtype, Call("aten::attention", device="cuda", math=math), (seq_q, keys))


TWINS: Mapping[str, Callable[..., Ledger | None]] = {
    twin.__name__: twin for twin in (gemm, bmm, gemv, linear, attention)
}
