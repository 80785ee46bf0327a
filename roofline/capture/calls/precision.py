"""How PyTorch is set to multiply matrices, when a call is made.

cuBLAS, cuDNN's convolutions and its recurrent layers, and oneDNN have settings of their own: out of
the box cuDNN multiplies fp32 as tf32 and cuBLAS does not.  `torch.backends` resolves every spelling
(`allow_tf32`, `fp32_precision` at each level, `set_float32_matmul_precision`); its own readers of
the older spellings raise once the newer ones were used, so they are not asked.
"""

from typing import Literal

import torch

from roofline import ops
from roofline.call import Math

Library = Literal["matmul", "conv", "rnn"]
Settings = tuple[str, str, bool]  # fp32 by cuBLAS or cuDNN, fp32 by oneDNN, sums of fp16 in fp16

_MATHS: dict[str, Math] = {"tf32": "tf32", "bf16": "bf16"}
_get = torch._C._get_fp32_precision_getter


def library_of(op: str) -> Library | None:
    """Whose settings the products of operator `op` follow; None where it has no products."""
    if op not in ops.PRODUCTS:
        return None
    name = op.rpartition("::")[2]
    if "conv" in name:
        return "conv"
    return "rnn" if any(kind in name for kind in ("rnn", "lstm", "gru")) else "matmul"


def settings(kind: Library) -> Settings:
    """What holds now; equal settings multiply alike."""
    # The setting is cuBLAS's alone: ROCm's libraries have no such sums.
    asked = kind == "matmul" and torch.version.hip is None
    sums = asked and torch._C._get_cublas_allow_fp16_accumulation()
    return _get("cuda", kind), _get("mkldnn", kind), sums


def math(op: str, device: Literal["cpu", "cuda"], dtypes: frozenset[str]) -> Math:
    """How `op` multiplies operands of these types now."""
    kind = library_of(op)
    if kind is None:
        return "ieee"
    on_cuda, on_cpu, sums = settings(kind)
    if device == "cpu":
        return _MATHS.get(on_cpu, "ieee") if _cpu_can(on_cpu) else "ieee"
    if "fp16" in dtypes:
        # A setting of cuBLAS: fused attention keeps its sums in fp32.
        return "acc16" if sums and "attention" not in op else "ieee"
    return _MATHS.get(on_cuda, "ieee")


def _cpu_can(asked: str) -> bool:
    """oneDNN leaves fp32 as it is on a processor without the instructions."""
    if asked == "bf16":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return asked == "tf32" and bool(torch.cpu._is_amx_fp16_supported())
