"""How PyTorch is set to multiply is read when a call is made, in every spelling."""

import pytest

torch = pytest.importorskip("torch")

import roofline as rl  # noqa: E402
from roofline.capture.calls import precision  # noqa: E402

PLACES = [
    ("generic", "all"),
    *((b, op) for b in ("cuda", "mkldnn") for op in ("all", "matmul", "conv", "rnn")),
]


@pytest.fixture(autouse=True)
def settings_restored():
    matmul = torch.backends.cuda.matmul
    before = {place: torch._C._get_fp32_precision_getter(*place) for place in PLACES}
    sums = matmul.allow_fp16_accumulation
    for place in PLACES:  # as PyTorch is out of the box, whatever ran before
        cudnn = place in (("cuda", "conv"), ("cuda", "rnn"))
        torch._C._set_fp32_precision_setter(*place, "tf32" if cudnn else "none")
    yield
    matmul.allow_fp16_accumulation = sums
    torch.set_float32_matmul_precision("highest")
    for place, value in before.items():
        torch._C._set_fp32_precision_setter(*place, value)


def products(x, w):
    """A product, a convolution and attention, as on a GPU: the math of each."""

    def work(x, w):
        torch.nn.functional.conv1d(x, w)
        torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])
        return x[0] @ x[0]

    counted = rl.account(work, x, w, device="cuda")
    found = {s.call.op: s.call.math for s in counted.account.signatures}
    attention = next(op for op in found if "attention" in op)
    return found["aten::mm"], found["aten::convolution"], found[attention]


def of(dtype):
    return torch.ones(8, 8, 8, dtype=dtype), torch.ones(8, 8, 1, dtype=dtype)


def legacy_flag():
    torch.backends.cuda.matmul.allow_tf32 = True


def matmul_precision():
    torch.backends.cuda.matmul.fp32_precision = "tf32"


def generic_precision():
    torch.backends.fp32_precision = "tf32"


@pytest.mark.parametrize(
    "spelling",
    [legacy_flag, matmul_precision, generic_precision,
     lambda: torch.set_float32_matmul_precision("high"),
     lambda: torch.set_float32_matmul_precision("medium")],
)  # fmt: skip
def test_every_spelling_of_tf32(spelling):
    assert products(*of(torch.float32)) == ("ieee", "tf32", "ieee")
    spelling()
    assert products(*of(torch.float32)) == ("tf32", "tf32", "tf32")


def test_convolutions_follow_cudnn():
    """cuDNN multiplies fp32 as tf32 out of the box, cuBLAS does not."""
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    assert products(*of(torch.float32)) == ("ieee", "ieee", "ieee")


def test_sums_of_fp16_are_kept_in_fp16_by_cublas_only():
    assert products(*of(torch.float16)) == ("ieee", "ieee", "ieee")
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    assert products(*of(torch.float16)) == ("acc16", "ieee", "ieee")
    assert products(*of(torch.float32))[0] == "ieee"


def test_a_processor_without_the_instructions_stays_with_fp32(monkeypatch):
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    fp32 = frozenset({"fp32"})
    for can, math in ((True, "bf16"), (False, "ieee")):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda can=can: can)
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
        assert precision.math("aten::mm", "cpu", fp32) == math
    assert precision.math("aten::relu", "cpu", fp32) == "ieee"
    assert precision.math("aten::mm", "cuda", fp32) == "ieee"


def test_a_change_between_two_calls_is_seen():
    """Equal calls fold only while the setting is the same."""

    def work(x):
        first = x @ x
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        return first + x @ x

    counted = rl.account(work, torch.ones(8, 8), device="cuda")
    pipes = {r.name: n for r, n in counted.account.algorithmic.demand().items() if r.is_pipe}
    assert pipes == {"vector-fp32": 1024 + 64, "tensor-tf32": 1024}
