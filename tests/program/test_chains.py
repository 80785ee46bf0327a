"""Which calls are said to feed which: what is given as ``out=`` is written, and read by nobody."""

from roofline.call import Call
from roofline.importers import load
from roofline.program import read
from tests.importers.kineto.traces import Trace
from tests.runs import Script, call, tensor

X = tensor(1000, 1000)  # 4 MB
A, B, C = 1, 2, 3
# torch.add(b, c, alpha=2, out=a): the schema's order, out last
ADD = Call("aten::add", (X, X, 2, X), (X,))


def test_two_writes_into_one_out_do_not_feed_each_other():
    """Two turns of a loop: both read b and c and write a."""
    script = Script()
    for _ in range(2):
        script.add(ADD, 1_300, reads=(B, C, A), writes=(A,))

    assert read(script.end_step().run()).chains == ()


def test_an_out_that_is_an_operand_too_is_read():
    """a = b + 2c, then a = b + 2a: 4 MB of b twice, c, a out and in again; b and c in, a out."""
    script = Script()
    script.add(ADD, 1_300, reads=(B, C, A), writes=(A,)).add(
        ADD, 1_300, reads=(B, A, A), writes=(A,)
    )
    (chain,) = read(script.end_step().run()).chains

    assert chain.names == ("aten::add", "aten::add")
    assert chain.least == 12_000_000


def test_a_result_that_is_written_again_is_not_used_later():
    """exp of x into t, neg of t into u; at the end another exp into t, which does not read it."""
    exp = call("aten::exp", X, X, out=X)
    script = Script()
    script.add(exp, 900, reads=(1, 2), writes=(2,))
    script.add(call("aten::neg", X, out=X), 900, reads=(2,), writes=(3,))
    script.add(call("aten::mm", X, X, out=X), 20_000, reads=(1, 1), writes=(4,))
    script.add(exp, 900, reads=(1, 2), writes=(2,))
    (chain,) = read(script.end_step().run()).chains

    assert chain.least == 8_000_000  # x in and u out


def test_by_size_an_out_is_no_operand_either(tmp_path):
    """A trace: exp of 4 kB, then the sum of 4 MB into an out of 4 kB, which does not read exp's."""
    trace = Trace(deviceProperties=[])
    row, full = ((1000,), "fp32"), ((1000, 1000), "fp32")
    trace.op("aten::exp", 0, 10, row)
    trace.op("aten::sum", 20, 300, full, "[0]", "False", "", row)

    assert read(load([trace.write(tmp_path / "out.json")])).chains == ()


def test_by_size_the_last_operand_is_still_read(tmp_path):
    """exp of 4 MB, then what it is taken from, a column of 4 kB: 4 MB in, 4 MB out."""
    trace = Trace(deviceProperties=[])
    full = ((1000, 1000), "fp32")
    trace.op("aten::exp", 0, 900, full)
    trace.op("aten::sub", 1000, 1300, ((1000, 1), "fp32"), full, "1")
    (chain,) = read(load([trace.write(tmp_path / "read.json")])).chains

    assert chain.least == 8_000_000 + 4_000


def test_a_chain_is_said_to_be_where_its_own_calls_are():
    """A sum of other data streams just before it, in another module; its two calls share `net`."""
    exp, neg = call("aten::exp", X, out=X), call("aten::neg", X, out=X)
    script = Script()
    script.add(call("aten::sum", X, out=tensor()), 700, reads=(9,), writes=(8,), module="net.mlp")
    script.add(exp, 900, reads=(1,), writes=(2,), module="net.norm.0")
    script.add(neg, 900, reads=(2,), writes=(3,), module="net.gate")
    (chain,) = read(script.end_step().run()).chains

    assert chain.names == ("aten::exp", "aten::neg")
    assert chain.module == "net"


def adamw(phase="optimizer", size=X):
    """An update as PyTorch's loop does it: the parameter is scaled, both moments are moved, and
    the end reads all three."""
    param, grad, mean, square, denom = 10, 11, 12, 13, 14
    add = call("aten::add_", size, 1.0, out=size)
    scale = call("aten::mul_", size, 0.99, out=size)
    return (
        Script()
        .add(scale, 900, reads=(param,), writes=(param,), phase=phase)
        .add(call("aten::lerp_", size, X, 0.1, out=size), 1_300, reads=(mean, grad),
             writes=(mean,), phase="optimizer")
        .add(scale, 900, reads=(square,), writes=(square,), phase="optimizer")
        .add(call("aten::addcmul_", X, X, X, 0.1, out=X), 1_300, reads=(square, grad, grad),
             writes=(square,), phase="optimizer")
        .add(call("aten::sqrt", X, out=X), 900, reads=(square,), writes=(denom,),
             phase="optimizer")
        .add(add, 900, reads=(denom,), writes=(denom,), phase="optimizer")
        .add(call("aten::addcdiv_", X, X, X, -0.1, out=X), 1_700, reads=(param, mean, denom),
             writes=(param,), phase="optimizer")
    )  # fmt: skip


def test_an_update_in_a_loop_is_one_chain_though_its_parts_meet_at_the_end_only():
    """Passes: 2 + 3 + 2 + 3 + 2 + 2 + 4 = 18; the parameter and both moments in and out, the
    gradient in: 7."""
    (chain,) = read(adamw().end_step().run()).chains

    assert len(chain.names) == 7
    assert (round(chain.passes), round(chain.least_passes)) == (18, 7)


def test_a_chain_does_not_reach_into_another_phase():
    """Scaled in the backward pass: the update begins after it."""
    (chain,) = read(adamw(phase="backward").end_step().run()).chains

    assert chain.names[0] == "aten::lerp_"
    assert chain.phase == "optimizer"
