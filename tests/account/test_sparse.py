"""Sparse tensors of a running program: counted by what they hold."""

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

import roofline as rl  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore:.*beta state")


def matrix():
    """8 x 8, of which 10 elements are not zero; they lie in 7 blocks of 2 x 2."""
    dense = torch.zeros(8, 8)
    dense[0, :4] = dense[3, 4:6] = 1.0
    dense[5:7, 0] = dense[7, 6:] = 2.0
    return dense


LAYOUTS = {
    # values, indices: COO 2*10*8, CSR and CSC (10 + 9)*8; BSR 6 blocks of 16 B, (6 + 5)*8
    "coo": (torch.Tensor.to_sparse, 10, 40 + 160),
    "csr": (torch.Tensor.to_sparse_csr, 10, 40 + 152),
    "csc": (torch.Tensor.to_sparse_csc, 10, 40 + 152),
    "bsr": (lambda t: t.to_sparse_bsr((2, 2)), 24, 96 + 88),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_product_of_every_layout(layout):
    make, held, nbytes = LAYOUTS[layout]
    sparse, dense = make(matrix()), torch.ones(8, 3)
    assert torch.equal(sparse @ dense, matrix() @ dense)
    counted = rl.account(lambda: sparse @ dense)
    assert not counted.unaccounted
    assert counted.flop == 2 * held * 3
    # The rows of D that it names: all 8 of 12 B, as far as anyone can tell.
    assert counted.account.read == nbytes + 8 * 12
    assert counted.account.written == 8 * 3 * 4


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_people_do_with_them(layout):
    """Nothing of it is a gap."""
    make, held, nbytes = LAYOUTS[layout]
    dense = torch.ones(8, 3)

    def work():
        sparse = make(matrix())
        sparse = torch.relu(sparse * 2.0)
        return (
            sparse.to_dense(),
            sparse.sum(),
            sparse @ dense[:, 0],
            torch.addmm(dense, sparse, dense),
        )

    counted = rl.account(work)
    assert not counted.unaccounted
    (relu,) = [s for s in counted.account.signatures if s.name == "aten::relu"]
    assert relu.ledger.flop == held
    assert sum(e.amount for e in relu.ledger.entries if e.access == "read") == nbytes


def test_a_training_step_through_a_sparse_weight():
    """E = 10: forward 2*E*3; dX = S^T dY as much; dS where S is: dense 2*8*8*3, then masked."""
    weight = matrix().to_sparse().requires_grad_()
    x = torch.ones(8, 3, requires_grad=True)
    counted = rl.account(torch.sparse.mm, weight, x, backward=True)
    assert not counted.unaccounted
    flop = {g.name: g.algorithmic.flop for g in counted.account.by("operator")}
    assert flop["aten::_sparse_addmm"] == 60
    assert flop["aten::mm"] == 60 + 2 * 8 * 8 * 3


@pytest.mark.parametrize("optimizer", [torch.optim.SparseAdam, torch.optim.SGD])
def test_a_table_with_sparse_gradients_moves_the_rows_it_uses(optimizer):
    """3 of 1,000 rows of 64 fp32: nothing that is written is as large as the table."""
    table = torch.nn.Embedding(1000, 64, sparse=True)
    step = optimizer(table.parameters(), lr=0.1)
    step.zero_grad()
    rows = torch.tensor([1, 5, 7])

    def work():
        table(rows).sum().backward()
        step.step()

    counted = rl.account(work)
    assert not counted.unaccounted
    adds = [s for s in counted.account.signatures
            if s.name == "aten::add_" and any(t.layout == "coo" for t in s.call.tensors)]  # fmt: skip
    assert adds
    for signature in adds:
        assert [e.amount for e in signature.ledger.entries if e.access == "write"] == [3 * 256]


def test_a_table_in_bags_with_sparse_gradients():
    bags = torch.nn.EmbeddingBag(1000, 64, sparse=True, mode="sum")
    counted = rl.account(bags, torch.tensor([[1, 2, 2]]), backward=True)
    assert not counted.unaccounted


def test_a_semi_structured_weight_is_on_the_sparse_pipe():
    """64 x 64 of which half is stored: the dense product's flop; packed, metadata, B, result."""
    with FakeTensorMode():
        packed = torch.empty(64, 32, dtype=torch.float16)
        meta = torch.empty(64, 4, dtype=torch.int16)
        dense = torch.empty(64, 16, dtype=torch.float16)
    counted = rl.account(torch._sparse_semi_structured_mm, packed, meta, dense, device="cuda")
    pipes = {r.name: n for r, n in counted.account.algorithmic.demand().items() if r.is_pipe}
    assert pipes == {"tensor-fp16-sparse": 2 * 64 * 64 * 16}
    assert counted.account.read == 64 * 32 * 2 + 64 * 4 * 2 + 64 * 16 * 2
    assert counted.account.written == 64 * 16 * 2


def test_a_fake_sparse_tensor_is_unknown_and_not_empty():
    """It says that it holds nothing: what uses it is named, and no flop is counted for it."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        sparse, dense = torch.empty(8, 8).to_sparse(), torch.empty(8, 4)
    counted = rl.account(torch.mm, sparse, dense)
    assert any("sparse" in name for name in counted.unaccounted)
