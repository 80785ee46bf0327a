"""Each finding: what fires it, what its numbers are, and what keeps it silent."""

from dataclasses import replace

import pytest

from roofline import ops
from roofline.call import Call
from roofline.device import DRAM, TENSOR_BF16, TENSOR_TF32, VECTOR_FP32, Ceiling, Fact, Variant
from roofline.diagnosis import diagnose
from roofline.diagnosis.answer import answer
from roofline.diagnosis.doubts.ledger import ASK, DECLARE, incomplete_ledger
from roofline.ops import PRODUCTS
from roofline.program import read, single
from roofline.provenance import spread
from roofline.work import Entry, algorithmic
from tests.roofs import roof
from tests.runs import MEASURED, Script, call, device, tensor

# 1000 x 1000 fp32 is 4 MB.  On the toy CPU (10 GB/s, 100 GFLOP/s) a copy of it takes 0.8 ms.
X = tensor(1000, 1000)
ROW = tensor(1000, 1)
MM = call("aten::mm", X, X, out=X)  # 20 ms of compute
ADD = call("aten::add", X, X, 1, out=X)  # 12 MB: 1.2 ms
MEAN = call("aten::mean", X, (1,), True, None, out=ROW)  # 4.004 MB: 0.4004 ms
SUB = call("aten::sub", X, ROW, 1, out=X)  # 8.004 MB: 0.8004 ms
SQUARE = call("aten::mul", X, X, out=X)  # 12 MB as two operands: 1.2 ms
RELU = call("aten::relu", X, out=X)  # 8 MB: 0.8 ms
UNKNOWN = call("my::kernel", X, out=X)


def codes(program):
    return [finding.code for finding in diagnose(program)]


def only(program, code):
    (finding,) = (f for f in diagnose(program) if f.code == code)
    return finding


def test_above_the_roof_and_advice_on_that_item_is_silenced():
    """20 ms of work in 10 ms: 2.00 times as fast as the roof allows."""
    program = read(Script().add(MM, 10_000).end_step().run())
    finding = only(program, "RF001")

    assert "2.00 times as fast as its vector-fp32 roof allows" in finding.claim
    assert finding.doubt_s == pytest.approx(10e-3)
    assert codes(program) == ["RF001"]


def test_within_five_percent_or_within_the_ceilings_interval_is_not_above():
    codes_found = codes(read(Script().add(MM, 19_200).end_step().run()))  # 20 / 19.2 = 1.04
    assert codes_found == ["RF204"]  # on its roof


def test_an_incomplete_ledger_is_said_with_its_share_and_silences_the_whole():
    """10 of 32.5 ms are unknown, more than a fifth: what rests on ledgers is silent, times are not."""
    script = Script().add(RELU, 2_000, page_faults=977).add(MM, 20_500).add(UNKNOWN, 10_000)
    program = read(script.idle(50_000).end_step().run())

    finding = only(program, "RF002")
    assert finding.evidence == ("my::kernel: 10.0 ms a step, 1 call; no rule",)
    assert finding.next_step == DECLARE
    assert "30.8% of operator time" in finding.claim
    # RF103 speaks of the whole program by its ledgers, RF302 by times
    assert codes(program) == ["RF002", "RF302", "RF204"]


def test_who_can_say_what_is_unknown_is_asked():
    """PyTorch's operators by a rule in the library, one's own by a declaration."""
    theirs = call("aten::no_such", tensor(4))
    (alone,) = incomplete_ledger(read(Script().add(theirs, 100).end_step().run()))
    (both,) = incomplete_ledger(read(Script().add(theirs, 100).add(UNKNOWN, 100).end_step().run()))

    assert alone.next_step == ASK
    assert both.next_step == f"{ASK}; {DECLARE}"


def test_little_unknown_time_does_not_silence_the_whole():
    """1 of 23.5 ms is unknown."""
    script = Script().add(RELU, 2_000, page_faults=977).add(MM, 20_500).add(UNKNOWN, 1_000)

    assert "RF103" in codes(read(script.end_step().run()))


def layer_norm(script, x=1, first=10):
    """mean, subtract, square, mean: X is passed over, its results are new storages."""
    a, b, c, d = range(first, first + 4)
    script.add(MEAN, 500, reads=(x,), writes=(a,))
    script.add(SUB, 900, reads=(x, a), writes=(b,))
    script.add(SQUARE, 1_300, reads=(b, b), writes=(c,))
    return script.add(MEAN, 500, reads=(c,), writes=(d,))


def test_excess_passes_fire_on_bytes():
    """Moved: 4.004 + 8.004 + 12 + 4.004 = 28.012 MB (7.0 of 4 MB); least: X in, last row out 4.004.

    At 10 GB/s 0.4004 ms would do; 3.2 ms were taken: saves at most 2.7996 ms.
    """
    script = layer_norm(Script())
    finding = only(read(script.end_step().run()), "RF101")

    assert "4 operators pass 7.0 times over the same 4.00 MB" in finding.claim
    assert "its inputs and outputs need 1.0" in finding.claim
    assert finding.item == "mean > sub > mul > mean"
    assert finding.saves_s == pytest.approx(2.7996e-3)


def test_equal_chains_are_one_finding():
    script = layer_norm(layer_norm(Script(), first=10), first=20)
    finding = only(read(script.end_step().run()), "RF101")

    assert "2 times a step" in finding.evidence[0]
    assert finding.saves_s == pytest.approx(2 * 2.7996e-3)


def test_an_optimizer_s_update_is_fused_by_its_own_option():
    script = Script()
    for event in ((MEAN, (1,), (2,)), (SUB, (1, 2), (3,)), (SQUARE, (3, 3), (4,))):
        script.add(event[0], 5_000, reads=event[1], writes=event[2], phase="optimizer")
    update = only(read(script.end_step().run()), "RF101")
    model = only(read(layer_norm(Script()).end_step().run()), "RF101")

    assert "fused=True (Adam, AdamW, SGD, Adagrad)" in update.next_step
    assert "layer_norm" not in update.next_step
    assert "layer_norm" in model.next_step


def test_an_update_of_many_sizes_is_one_finding():
    """One of three calls and one of two, 1.6 s each."""
    script = Script()
    for event in ((MEAN, (1,), (2,)), (SUB, (1, 2), (3,)), (SQUARE, (3, 3), (4,))):
        script.add(event[0], 1_600_000, reads=event[1], writes=event[2], phase="optimizer")
    script.add(MM, 20_500, reads=(9,), writes=(10,))
    for event in ((SUB, (11, 12), (13,)), (SQUARE, (13, 13), (14,))):
        script.add(event[0], 1_600_000, reads=event[1], writes=event[2], phase="optimizer")
    update = only(read(script.end_step().run()), "RF101")

    assert update.item == "the optimizer's update"
    assert update.claim.startswith("5 operators of the optimizer pass")
    assert [line.split(" over ")[0] for line in update.evidence[:2]] == [
        "mean > sub > mul",
        "sub > mul",
    ]
    assert update.now_s == pytest.approx(5 * 1.6)


def test_on_the_roof_is_said_only_of_those_that_are():
    """0.4004 ms of work in 0.5 and 0.8004 in 0.9: 80 % and 89 %; the square 1.2 in 1.3: 92 %."""
    near = only(read(layer_norm(Script()).end_step().run()), "RF101")
    assert any("4 of its 4 operators are at 80%" in line for line in near.evidence)

    slow = Script()
    for event in ((MEAN, (1,), (2,)), (SUB, (1, 2), (3,)), (SQUARE, (3, 3), (4,))):
        slow.add(event[0], 5_000, reads=event[1], writes=event[2])
    far = only(read(slow.end_step().run()), "RF101")
    assert any("none of its 3 operators is near its roof" in line for line in far.evidence)


def test_results_used_later_are_not_saved():
    """relu, relu, and both results read afterwards by a product: everything must be written."""
    script = (
        Script().add(RELU, 900, reads=(1,), writes=(2,)).add(RELU, 900, reads=(2,), writes=(3,))
    )
    script.add(MM, 20_500, reads=(2, 3), writes=(4,))

    # moved 16 MB, least 4 in + 8 out = 12 MB: 4 passes against 3
    finding = only(read(script.end_step().run()), "RF101")
    assert "pass 4.0 times" in finding.claim
    assert "need 3.0" in finding.claim


def test_sizes_of_one_operator_are_one_finding_and_what_makes_data_is_left_out():
    half = call("aten::mm", tensor(500, 1000), X, out=tensor(500, 1000))  # 10 ms
    script = Script().add(MM, 100_000).add(half, 50_000)
    script.add(call("aten::randn", (1000, 1000), None, None, None, None, out=X), 100_000)
    finding = only(read(script.end_step().run()), "RF201")

    assert "aten::mm in 2 sizes reaches 20%" in finding.claim
    assert finding.saves_s == pytest.approx(120e-3)
    assert (finding.now_s, finding.then_s) == (
        pytest.approx(150e-3), (pytest.approx(30e-3), pytest.approx(150e-3)),
    )  # fmt: skip


def test_a_chain_says_what_fusing_it_would_take():
    """4.004 MB in and out at 10 GB/s: 0.4004 ms; with 9 to 12 GB/s 0.334 to 0.445 ms."""
    wide = replace(MEASURED, spread=spread([9e9, 9e9, 9.5e9, 1e10, 1.1e10, 1.2e10, 1.2e10]))
    noisy = Ceiling(resource=DRAM, rate=10e9, provenance=wide)
    toy = replace(device(), ceilings=(*(c for c in device().ceilings if c.resource != DRAM), noisy))
    finding = only(read(layer_norm(Script()).end_step().run(on=toy)), "RF101")

    assert finding.now_s == pytest.approx(3.2e-3)
    assert finding.then_s == (pytest.approx(4.004e6 / 1.2e10), pytest.approx(4.004e6 / 9e9))
    assert (
        "3.20 ms -> 400 us a step at the ceiling of dram (334 us to 445 us" in finding.evidence[3]
    )


def test_fusing_small_operators_saves_starts_not_bytes():
    """sigmoid(relu(sin(x))) * x on 4,096 fp32: 147,456 B to 32,768 B, 4.5 times, but 4 starts to 1.

    32,768 B at 100 GB/s of the L2 would be 0.33 us; starting the one call that remains takes 1 us.
    """
    x = tensor(4096)
    script = Script()
    for at, name in enumerate(("sin", "relu", "sigmoid"), start=1):
        script.add(call(f"aten::{name}", x, out=x), 20, reads=(at,), writes=(at + 1,))
    script.add(call("aten::mul", x, x, out=x), 20, reads=(4, 1), writes=(5,))
    finding = only(read(script.end_step().run()), "RF101")

    assert "147 kB by formula against 32.8 kB that enter or leave: 4.5 times" in finding.evidence
    assert "80.0 us -> 1.00 us a step at the cost of starting one kernel" in finding.evidence[-1]
    assert finding.then_s == (pytest.approx(1e-6), pytest.approx(1e-6))


def test_without_storages_data_is_followed_by_size():
    """As above, but a trace names no memory: 28.012 MB moved against 4.004 MB."""
    script = Script().add(MEAN, 500).add(SUB, 900).add(SQUARE, 1_300).add(MEAN, 500)
    finding = only(read(script.end_step().run()), "RF101")

    # X of 4 MB is read by the first mean and by the subtraction: once, from outside
    assert "4 operators pass 7.0 times over the same 4.00 MB" in finding.claim
    assert "need at least 1.0" in finding.claim
    assert finding.evidence[1] == (
        "28.0 MB by formula against at least 4.00 MB that enter or leave: at most 7.0 times"
    )
    assert (
        "data was followed by size, the recording names no memory: equal sizes count as one tensor"
    ) in finding.evidence


def test_a_gradient_is_no_tensor_of_the_forward_pass():
    """12 and 8.004 MB; gradient, saved input, column and result are 12.004 that must cross."""
    grad = call("aten::gelu_backward", X, X, "none", out=X)
    scaled = call("aten::mul", X, ROW, out=X)
    script = Script().add(grad, 1_300).add(scaled, 900)
    finding = only(read(script.end_step().run()), "RF101")

    assert "pass 5.0 times over the same 4.00 MB" in finding.claim
    assert "need at least 3.0" in finding.claim


def test_equal_chains_of_several_layers_are_one_finding():
    script = Script()
    for layer in range(3):
        a, b = 100 + 10 * layer, 101 + 10 * layer
        where = f"Model.layers.{layer}.norm"
        script.add(RELU, 900, reads=(a,), writes=(b,), module=where)
        script.add(RELU, 900, reads=(b,), writes=(b + 1,), module=where)
        script.add(MM, 20_500, reads=(b + 1, b + 1), writes=(b + 2,))
    finding = only(read(script.end_step().run()), "RF101")

    assert "2 operators in Model.layers.*.norm pass 4.0 times" in finding.claim
    assert "3 times a step" in finding.evidence[0]


def test_repetitions_followed_by_size_are_told_apart():
    script = Script()
    for _ in range(3):
        script.add(MEAN, 500).add(SUB, 900).add(SQUARE, 1_300).add(MEAN, 500)
    finding = only(read(script.end_step().run()), "RF101")

    assert "4 operators pass 7.0 times" in finding.claim
    assert "3 times a step" in finding.evidence[0]


def test_a_matrix_product_and_unrelated_data_break_a_chain():
    script = (
        Script().add(RELU, 900, reads=(1,), writes=(2,)).add(MM, 20_500, reads=(2, 2), writes=(3,))
    )
    script.add(RELU, 900, reads=(3,), writes=(4,)).add(RELU, 900, reads=(9,), writes=(10,))

    assert "RF101" not in codes(read(script.end_step().run()))


def test_one_operator_on_its_roof_is_told_to_stop():
    """0.8 ms of work in 0.9 ms: 89 %."""
    finding = only(read(Script().add(RELU, 900).end_step().run()), "RF102")

    assert "aten::relu (1000x1000 fp32) is at 89% of its dram roof" in finding.claim
    assert finding.evidence[1] == "dram ceiling 10.0 GB/s, measured"  # a plain one has no variant
    assert finding.saves_s == 0.0


def test_fresh_memory():
    """4 MB written with 977 faults of 4096 B: 4.001792 MB, 100 %."""
    finding = only(read(Script().add(RELU, 2_000, page_faults=977).end_step().run()), "RF103")

    assert finding.claim == (
        "1 operator writes into memory just handed out: the system clears 4.00 MB a step for them"
    )
    assert finding.evidence == (
        "aten::relu: 977 faults a call, 100% of the bytes it writes",
        "977 page faults of 4096 B a step",
    )
    assert finding.saves_s is None
    assert "RF103" not in codes(read(Script().add(RELU, 2_000, page_faults=100).end_step().run()))
    assert "RF103" not in codes(read(Script().add(RELU, 2_000).end_step().run()))


def test_fresh_memory_beyond_the_outputs_is_workspace():
    """4 MB are 976.6 pages: 977 faults are its own, 3,907 are 16.0 MB, four times what it writes."""
    finding = only(read(Script().add(RELU, 2_000, page_faults=3_907).end_step().run()), "RF103")

    assert finding.evidence[0] == (
        "aten::relu: 3907 faults a call, 4.0 times the bytes it writes: workspace inside it is "
        "fresh as well"
    )


def test_fresh_memory_is_priced_where_a_fault_was_measured_and_explains_the_loss():
    """977 faults of 1 us: 0.977 ms of the 1.2 ms that relu loses; far below its roof is not said."""
    cost = Fact(name="page_fault", value=1e-6, unit="s", provenance=MEASURED)
    toy = replace(device(), facts=(cost,))
    program = read(Script().add(RELU, 2_000, page_faults=977).end_step().run(on=toy))

    assert only(program, "RF103").saves_s == pytest.approx(0.977e-3)
    assert codes(program) == ["RF103"]
    without = read(Script().add(RELU, 2_000, page_faults=0).end_step().run(on=toy))
    assert codes(without) == ["RF201"]


def test_the_price_of_fresh_memory_has_the_interval_of_a_fault():
    """977 faults of 0.8 to 1.1 us: 0.977 ms of 2 at 1 us, and up to 1.0747 of them."""
    samples = [0.8e-6, 0.8e-6, 0.9e-6, 1e-6, 1e-6, 1.1e-6, 1.1e-6]
    timed = replace(MEASURED, spread=spread(samples, best="min"))
    cost = Fact(name="page_fault", value=1e-6, unit="s", provenance=timed)
    toy = replace(device(), facts=(cost,))
    finding = only(read(Script().add(RELU, 2_000, page_faults=977).end_step().run(on=toy)), "RF103")

    assert finding.evidence[-1] == (
        "977 page faults of 4096 B a step, 977 us at this machine's cost of a fault, "
        "1.00 us (800 ns to 1.10 us)"
    )
    assert finding.then_s == (pytest.approx(2e-3 - 977 * 1.1e-6), pytest.approx(2e-3))


def test_faults_that_come_to_more_than_is_lost_are_counted_up_to_that():
    """977 faults of 2 us are 1.95 ms one after the other; relu loses 1.2 ms to its roof."""
    cost = Fact(name="page_fault", value=2e-6, unit="s", provenance=MEASURED)
    toy = replace(device(), facts=(cost,))
    finding = only(read(Script().add(RELU, 2_000, page_faults=977).end_step().run(on=toy)), "RF103")

    assert finding.saves_s == pytest.approx(1.2e-3)
    assert finding.evidence[-1] == (
        "977 page faults of 4096 B a step, 1.95 ms at this machine's cost of a fault, 2.00 us, "
        "one after the other: counted is what the operators lose, 1.20 ms"
    )


def test_far_below_every_roof():
    """20 ms of work in 100 ms: 20 %, 80 ms lost."""
    finding = only(read(Script().add(MM, 100_000).end_step().run()), "RF201")

    assert "reaches 20% of its nearest roof, vector-fp32" in finding.claim
    assert finding.saves_s == pytest.approx(80e-3)
    assert finding.evidence[0].endswith("20.0 Gflop/s of 100 Gflop/s (measured)")


def test_overhead_bound():
    """1000 calls of 0.9 us with 10 us between them; starting one takes 1 us, all of the 0.9."""
    small = call("aten::relu", tensor(1000), out=tensor(1000))
    script = Script()
    for _ in range(1000):
        script.add(small, 0.9).idle(10)
    finding = only(read(script.end_step().run()), "RF301")

    # gap 10 ms + 0.9 ms of starting, of 10.9 ms
    assert "100% of a step goes into 1000 starts" in finding.claim
    assert finding.saves_s == pytest.approx(10.9e-3)
    # the gap before each, not the step over the calls, which would be 10.9 us
    assert finding.evidence[1] == (
        "10.0 us before each of 1000 starts; starting one takes 1.00 us at its ceiling"
    )


def test_time_between_operators_is_not_blamed_on_starting_them():
    """0.9 of 10.9 ms is an operator; 10 ms before one call are 10,000 times a start."""
    program = read(Script().add(RELU, 900).idle(10_000).end_step().run())
    finding = only(program, "RF302")

    assert "92% of a step no operator runs" in finding.claim
    assert finding.saves_s == pytest.approx(10e-3)
    assert "RF301" not in codes(program)


def test_advice_is_ranked_by_seconds():
    script = layer_norm(Script()).add(MM, 100_000, reads=(50, 51), writes=(52,))
    assert codes(read(script.end_step().run()))[:2] == ["RF201", "RF101"]


def test_a_stated_time_above_the_roof_names_the_cache():
    """saxpy n = 4,194,304 fp32 in 33.295 us: 1511.7 GB/s on 672.05 GB/s."""
    n = 4_194_304
    saxpy = algorithmic(
        Entry(DRAM, 8 * n, "read x, y", "read"), Entry(DRAM, 4 * n, "write", "write")
    )
    program = single("saxpy", saxpy, roof(dram=672.05e9), 33.295e-6)
    finding = only(program, "RF001")

    assert "2.25 times as fast" in finding.claim
    assert "1.51 TB/s" in finding.evidence[0]


def test_the_answer_is_two_sentences():
    program = read(Script().add(MM, 100_000).end_step().run())
    where, what = answer(program, diagnose(program))

    assert where == (
        "toy.py takes 100 ms for the run; at the roof of Toy CPU its operators would need "
        "20.0 ms, 20% of that."
    )
    assert what.startswith("First, try larger or better aligned sizes")
    assert (
        "(at most 80.0 ms to win), because aten::mm (1000x1000 fp32, 1000x1000 fp32) reaches 20%"
        in what
    )


def test_nothing_worth_doing_is_an_answer():
    program = read(Script().add(MM, 20_500).end_step().run())
    assert answer(program, diagnose(program))[1] == "Nothing found here is worth doing."


def test_measured_interval_of_the_ceiling_is_considered():
    """10 % above the median, but within the ceiling's own interval."""
    wide = replace(MEASURED, spread=spread([9e9, 9e9, 9.5e9, 1e10, 1.1e10, 1.2e10, 1.2e10]))
    noisy = Ceiling(resource=DRAM, rate=10e9, provenance=wide, variant=Variant())
    toy = replace(device(), ceilings=(*(c for c in device().ceilings if c.resource != DRAM), noisy))

    # 8 MB in 0.72 ms: 11.1 GB/s
    assert "RF001" not in codes(read(Script().add(RELU, 720).end_step().run(on=toy)))
    assert "RF001" in codes(read(Script().add(RELU, 720).end_step().run()))


def test_streaming_operators_have_rules():
    assert set(ops.BY_OP) >= ops.STREAMING
    assert "aten::mm" not in ops.STREAMING


def test_several_that_fit_a_cache_without_a_ceiling_are_one_finding():
    """8 MB of relu fit a 50 MB L2; two sizes, each at more than DRAM allows."""
    l2 = Fact(name="l2_capacity", value=50_000_000, unit="B", provenance=MEASURED)
    no_l2 = tuple(c for c in device().ceilings if c.resource.name != "l2")
    toy = replace(device(), facts=(l2,), ceilings=no_l2)
    half = call("aten::relu", tensor(500, 1000), out=tensor(500, 1000))
    program = read(Script().add(RELU, 400).add(half, 200).end_step().run(on=toy))
    finding = only(program, "RF001")

    assert (
        "2 operators ran faster than dram allows with data that fits the 47.68 MiB L2"
        in finding.claim
    )
    assert finding.items == ("aten::relu",)
    assert codes(program) == ["RF001"]


def test_padding_by_a_rule_about_tiles():
    """One row of 16: 2 * 4096^2 useful, 16 times that executed; its 33.6 MB need 3.4 ms."""
    row = Call(
        "aten::mm",
        (tensor(1, 4096, dtype="bf16"), tensor(4096, 4096, dtype="bf16")),
        (tensor(1, 4096, dtype="bf16"),),
        "cuda",
    )
    executed_flop = ops.executed(row).demand()[TENSOR_BF16]
    finding = only(read(Script().add(row, 4_000).end_step().run()), "RF202")

    assert executed_flop > 2 * 2 * 4096**2
    assert f"up to {executed_flop / (2 * 4096**2):.0f} times the flop" in finding.claim
    square = tensor(4096, 4096, dtype="bf16")
    full = Call("aten::mm", (square, square), (square,), "cuda")
    assert "RF202" not in codes(read(Script().add(full, 100_000).end_step().run()))


def test_three_products_of_tf32_are_no_padding():
    """fp32 attention of 32 x 16 x 1024 x 64, causal: 3 times 1.12 the flop; of one query 16 rows run."""

    def attention(queries, dtype, us=2_000):
        q, k = tensor(32, 16, queries, 64, dtype=dtype), tensor(32, 16, 1024, 64, dtype=dtype)
        name = "aten::_scaled_dot_product_efficient_attention"
        call = Call(name, (q, k, k, None, False, 0.0, queries > 1), (q,), "cuda")
        tf32 = Ceiling(resource=TENSOR_TF32, rate=1e12, provenance=MEASURED)
        return read(Script().add(call, us).end_step().run(on=device(tf32)))

    (item,) = attention(1024, "fp32").by("call")
    pipe = next(r for r in item.placement.work.executed.demand() if r.name.startswith("tensor"))
    excess = item.placement.work.executed.demand()[pipe] / item.ledger.demand()[pipe]
    assert 3.0 < excess < 3.6
    below = only(attention(1024, "fp32", 4e6 * item.roof_s), "RF201")
    assert f"it runs {excess:.1f} times the flop of its formula (estimated)" in below.evidence[1]
    assert "RF202" not in codes(attention(1024, "fp32"))
    assert "RF202" in codes(attention(1, "bf16", us=20_000))


def test_a_ceiling_of_fewer_threads_is_no_roof_to_be_above():
    """20 ms of work at one thread's rate in 10 ms: with two threads nothing is wrong with that."""
    one = Ceiling(resource=VECTOR_FP32, rate=100e9, provenance=MEASURED, variant=Variant(threads=1))
    others = tuple(c for c in device().ceilings if c.resource != VECTOR_FP32)
    toy = replace(device(), ceilings=(*others, one))

    assert "RF001" not in codes(read(Script().add(MM, 10_000).end_step().run(on=toy, threads=2)))
    assert "RF001" in codes(read(Script().add(MM, 10_000).end_step().run(on=toy, threads=1)))


def test_work_of_a_few_starts_is_overhead_and_not_a_slow_operator():
    """relu on 4 kB: 80 ns of work in 100 us; starting it takes 1 us."""
    small = call("aten::relu", tensor(1000), out=tensor(1000))
    script = Script()
    for _ in range(100):
        script.add(small, 100)
    assert "RF201" not in codes(read(script.end_step().run()))


ODD_PRODUCTS = {
    "sparse": (replace(tensor(64, 64), layout="sparse_csr", stored=64, places=64), tensor(64, 64)),
    "of a type without a pipe": (tensor(64, 64, dtype="bool"), tensor(64, 64, dtype="bool")),
    "of one argument": (tensor(64, 64),),
    "of none": (),
    "of a number": (3, tensor(64, 64)),
    "of unknown sizes": (tensor(-1, 64), tensor(64, 64)),
    "of scalars": (tensor(), tensor()),
}


@pytest.mark.parametrize("args", ODD_PRODUCTS.values(), ids=ODD_PRODUCTS)
@pytest.mark.parametrize("op", sorted(PRODUCTS))
def test_no_product_is_too_odd_to_be_diagnosed(op, args):
    """What a rule cannot read is unaccounted for; the run is read and diagnosed all the same."""
    odd = replace(call(op, *args, out=tensor(64, 64)), device="cuda")
    known = call("aten::relu", tensor(1000), out=tensor(1000))
    program = read(Script().add(odd, 50_000).add(known, 10).end_step().run())
    assert all(finding.claim for finding in diagnose(program))
    assert {item.name for item in program.by("call")} == {op, "aten::relu"}
