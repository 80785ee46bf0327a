"""Rules of one's own: an overlay of the visible table, for this process."""

import pytest

import roofline as rl
from roofline import ops
from roofline.call import Call, Tensor
from roofline.errors import BadInput, NotFound
from roofline.ops import own


@pytest.fixture(autouse=True)
def no_rules_left():
    before = dict(own.RULES)
    yield
    own.RULES.clear()
    own.RULES.update(before)


CALL = Call("mylib::swiglu", (Tensor((4, 8)), Tensor((4, 8))), (Tensor((4, 8)),))


def test_a_rule_accounts_for_its_operator():
    assert ops.account(CALL).unaccounted == ("mylib::swiglu",)
    assert not ops.known("mylib::swiglu")
    before = ops.RULES

    @rl.rule("mylib::swiglu")
    def swiglu(call):
        x, y = call.tensors
        (out,) = call.outputs
        return rl.ledger({"vector-fp32": 4 * out.numel, "sfu": out.numel},
                         read=x.nbytes + y.nbytes, write=out.nbytes)  # fmt: skip

    ledger = ops.account(CALL)
    assert {r.name: n for r, n in ledger.demand().items()} == {
        "vector-fp32": 4 * 32, "sfu": 32, "dram": 3 * 32 * 4,
    }  # fmt: skip
    assert ops.known("mylib::swiglu")
    assert ops.RULES is before
    assert swiglu(CALL) == ledger


def test_there_cannot_be_two():
    rl.rule("mylib::swiglu")(lambda call: rl.ledger())
    with pytest.raises(BadInput, match="mylib::swiglu has a rule already"):
        rl.rule("mylib::swiglu")(lambda call: rl.ledger(read=1))
    with pytest.raises(BadInput, match="aten::mm has a rule in the library"):
        rl.rule("aten::mm")(lambda call: rl.ledger())


def test_a_cell_of_a_notebook_can_run_again():
    for amount in (1, 2):

        def again(call, amount=amount):
            return rl.ledger(read=amount)

        again.__qualname__ = "again"
        rl.rule("mylib::again")(again)
    assert own.RULES["mylib::again"].account(CALL) == rl.ledger(read=2)


def test_names_are_checked():
    nameless = rl.rule("swiglu")
    with pytest.raises(BadInput, match="namespace::name"):
        nameless(lambda call: rl.ledger())
    with pytest.raises(NotFound, match=r"no pipe 'tensor-bf17'; there is .*tensor-bf16"):
        rl.ledger({"tensor-bf17": 1})
    with pytest.raises(NotFound, match="no pipe 'dram'"):
        rl.ledger({"dram": 1})


def test_an_estimate_says_so():
    assert rl.ledger({"sfu": 1}, read=4, estimate=True).exactness == "estimate"
    assert rl.ledger({"sfu": 1}, read=4).exactness == "exact"
