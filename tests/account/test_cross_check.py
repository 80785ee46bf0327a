"""Our count beside torch's own, and whether every difference has its reason."""

import pytest

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

from roofline import accounting, ops  # noqa: E402
from roofline.accounting import against  # noqa: E402
from tests.account.programs import Language, Pictures  # noqa: E402

zeros = torch.zeros


def check(subject, *inputs, backward=False, fake=False):
    """(ours, torch's, why) by operator, without the operators that torch does not look at."""
    _, found = accounting.cross_check(subject, inputs, backward=backward, fake=fake)
    return {
        d.operator.removeprefix("aten::"): (d.ours, d.theirs, d.why)
        for d in found
        if d.why != (against.OUTSIDE,)
    }


def leaf(*shape):
    return zeros(*shape, requires_grad=True)


PROGRAMS = {
    "language": (Language(), zeros(2, 8, dtype=torch.int64)),
    "pictures": (Pictures(), zeros(4, 3, 16, 16)),
    "transposed": (nn.ConvTranspose2d(6, 6, 2, 2, groups=3), leaf(2, 6, 8, 8)),
    "dilated": (nn.Conv1d(8, 8, 3, dilation=2), leaf(2, 8, 16)),
    "volumes": (nn.Conv3d(2, 4, 3, stride=2), leaf(2, 2, 8, 8, 8)),
    "recurrent": (nn.LSTM(8, 16, 2, batch_first=True), zeros(2, 5, 8)),
    "bilinear": (nn.Bilinear(4, 4, 8), zeros(2, 4), zeros(2, 4)),
    "heads": (nn.MultiheadAttention(32, 4), *[zeros(5, 2, 32)] * 3),
    "encoder": (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), zeros(2, 8, 32)),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_difference_is_explained(program):
    subject, *inputs = PROGRAMS[program]
    found = check(subject, *inputs, backward=True)
    for operator, (ours, theirs, why) in found.items():
        assert bool(why) == (ours != theirs), operator
        assert against.UNEXPLAINED not in why, operator


def test_attention_on_the_cpu():
    q = zeros(1, 12, 64, 64)
    found = check(lambda q: functional.scaled_dot_product_attention(q, q, q), q)
    assert found == {
        "_scaled_dot_product_flash_attention_for_cpu": (12_582_912, 0, (against.CPU_ATTENTION,))
    }


def test_a_bias():
    found = check(nn.Linear(8, 16), zeros(4, 8))
    (addmm,) = found.values()
    assert addmm[:2] == (1_024 + 64, 1_024)
    assert addmm[2][0].startswith("torch leaves out: add bias")


def test_groups_of_a_convolution():
    # dX 9,437,184, and dW as many; torch counts dW four times.
    found = check(nn.Conv2d(64, 64, 3, padding=1, groups=4, bias=False), leaf(2, 64, 16, 16),
                  backward=True)  # fmt: skip
    forward = 2 * 2 * 64 * 16 * 16 * 9 * 16
    assert found["convolution"] == (forward, forward, ())
    assert found["convolution_backward"] == (2 * forward, 5 * forward, (against.GROUPS,))
    assert (forward, 6 * forward) == (9_437_184, 56_623_104)


def test_the_layout_of_flash_attention():
    # Fake tensors: it has no kernel on the CPU.  4*2*8*128*128*64, read as 4*2*128*8*8*64.
    q = torch.empty(2, 128, 8, 64, dtype=torch.float16, device="meta")

    def flash(q):
        return torch.ops.aten._flash_attention_forward(
            q, q, q, None, None, 128, 128, 0.0, False, False
        )

    found = check(flash, q, fake=True)
    assert found == {"_flash_attention_forward": (67_108_864, 4_194_304, (against.LAYOUT,))}


def test_the_causal_mask_and_the_five_products_of_a_backward():
    """A GPU's operators on fake tensors; B1 H2 S4 D8: 4*2*8*10 scores of 16, twice backward."""
    q = torch.empty(1, 2, 4, 8, dtype=torch.float16, device="meta")
    aten = torch.ops.aten

    def forward(q):
        return aten._scaled_dot_product_efficient_attention(q, q, q, None, True, 0.0, True)

    (found,) = check(forward, q, fake=True).values()
    assert found == (4 * 2 * 8 * 10, 4 * 2 * 8 * 16, (against.SQUARE,))

    def backward(q):
        o, lse, seed, offset = aten._scaled_dot_product_efficient_attention(
            q, q, q, None, True, 0.0, True
        )
        return aten._scaled_dot_product_efficient_attention_backward(
            o, q, q, q, None, o, lse, seed, offset, 0.0, [True] * 3 + [False], True
        )

    found = check(backward, q, fake=True)["_scaled_dot_product_efficient_attention_backward"]
    assert found == (2 * 4 * 2 * 8 * 10, 10 * 2 * 8 * 16, (against.SQUARE, against.FIVE))


def test_checkpointing_is_counted_by_torch():
    from torch.utils.checkpoint import checkpoint

    layers = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False))

    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            return checkpoint(self.layers, x, use_reentrant=False)

    base = 2 * 32 * 64 * 64
    found = check(Checkpointed(), leaf(32, 64), backward=True)
    assert found["mm"] == (6 * base, 7 * base, (against.AGAIN,))


def test_products_without_a_formula():
    found = check(lambda: torch.dot(zeros(8), zeros(8)))
    assert found["dot"] == (16, 0, (against.NO_FORMULA,))
    found = check(lambda: torch.mv(zeros(4, 8), zeros(8)))
    assert found["mv"] == (64, 0, (against.NO_FORMULA,))


def test_what_nothing_accounts_for_is_said(monkeypatch):
    monkeypatch.setattr(ops, "BY_OP", {k: v for k, v in ops.BY_OP.items() if k != "aten::mm"})
    found = check(lambda: zeros(4, 8) @ zeros(8, 4))
    assert found["mm"] == (None, 2 * 4 * 8 * 4, (against.NOBODY,))


def test_what_is_not_understood_is_not_explained_away():
    call = accounting.account(lambda: zeros(4, 8) @ zeros(8, 4)).signatures[-1]
    assert call.name == "aten::mm"
    assert against.explain(call, 256) == ()
    assert against.explain(call, 257) == (against.UNEXPLAINED,)


def test_inference_mode_with_an_input_that_requires_grad():
    layer = nn.Linear(8, 16, bias=False)

    def infer(x):
        with torch.inference_mode():
            return layer(x)

    assert check(infer, leaf(4, 8)) == {"mm": (1_024, 1_024, ())}


@pytest.mark.filterwarnings("ignore")
def test_what_torchs_counter_cannot_look_at():
    """It fails on nested tensors and on operators that take functions: those run without it."""
    rows = torch.nested.nested_tensor([torch.ones(3, 8), torch.ones(5, 8)])
    assert check(nn.Linear(8, 8), rows) == {
        "linear (nested)": (2 * 8 * 64 + 64, 0, (against.UNSEEN,))
    }
    from torch._higher_order_ops.map import map as map_
    from torch.nn.attention.flex_attention import flex_attention

    # The functions inside are seen by both.
    weight = torch.ones(4, 4)
    found = check(lambda: map_(lambda x: x @ weight, torch.ones(3, 2, 4)))
    assert found == {"mm": (3 * 2 * 2 * 16, 3 * 2 * 2 * 16, ())}
    q = torch.ones(1, 1, 128, 16)
    flex = check(lambda: flex_attention(q, q, q))["higher_order::flex_attention"]
    assert flex == (4 * 16 * 128 * 128, 0, (against.UNSEEN,))


def test_zeros_and_complex_numbers():
    """E = 4 of 4 x 4: 2*4*3 for 2*4*4*3; a complex product is 8 a step for 2."""
    sparse = torch.eye(4).to_sparse()
    assert check(lambda: sparse @ torch.ones(4, 3)) == {"mm": (24, 96, (against.ZEROS,))}
    z = torch.ones(2, 2, dtype=torch.complex64)
    assert check(lambda: z @ z) == {"mm": (64, 16, (against.COMPLEX,))}
