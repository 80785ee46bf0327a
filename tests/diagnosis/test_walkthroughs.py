"""What docs/walkthroughs/ says of three recordings of one H200: the tool says it too."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from roofline import importers
from roofline.device import DRAM
from roofline.devices import kept
from roofline.diagnosis import diagnose
from roofline.diagnosis.answer import answer
from roofline.program import mfu, read

TESTS = Path(__file__).parents[1]
MEASURED = kept.read_file(TESTS / "data" / "h200-measured.json")
TRACES = TESTS / "importers" / "kineto" / "torch-2.11"
COUNTERS = TESTS / "importers" / "ncu" / "2025.3"
BIG = 16384 * 4096 * 4  # B, the tensor of ln_hand
PRODUCTS = ("aten::mm", "aten::addmm")


@cache
def program(name):
    """A recording under the ceilings measured on the card that it was made on."""
    folder = COUNTERS if name.endswith(".csv.gz") else TRACES
    return read(replace(importers.load([folder / name]), device=MEASURED))


def finding(name, code, nth=0):
    return [f for f in diagnose(program(name)) if f.code == code][nth]


def codes(name):
    return [f.code for f in diagnose(program(name))]


def tensor_flop(ledger):
    return sum(n for pipe, n in ledger.demand().items() if pipe.name.startswith("tensor-"))


def achieved(item, boundary=DRAM):
    entries = item.placement.work.achieved.entries
    return sum(e.amount for e in entries if e.resource == boundary)


# ln_hand: a layer norm out of tensor operations


def test_ln_hand_passes_twelve_times_and_six_times_the_bytes():
    """12 passes of 268 MB = 3.221 GB (and columns) against X in, Y out and two rows, 0.537 GB."""
    found = finding("ln_hand.json.gz", "RF101")
    (chain,) = program("ln_hand.json.gz").chains

    assert "9 operators pass 12.0 times over the same 268 MB" in found.claim
    assert "its inputs and outputs need at least 2.0" in found.claim
    assert chain.moved / chain.least == pytest.approx(6.0, abs=0.01)
    assert "2 times a step" in found.evidence[0]
    # 0.537 GB at the copy ceiling of 4.286 TB/s is 125 us, twice
    assert found.then_s[0] == pytest.approx(2 * 125.3e-6, rel=0.01)
    assert codes("ln_hand.json.gz")[0] == "RF101"


def test_ln_hand_moved_5_8_times_the_bytes_by_counters():
    """3126.846 MB read and written, against 2 x 268.4 MB."""
    moved = sum(achieved(item) for item in program("ln_hand.raw.csv.gz").by("call"))

    assert moved == pytest.approx(3126.846e6, rel=1e-6)
    assert moved / (2 * BIG) == pytest.approx(5.82, abs=0.005)


def test_ln_hand_three_kernels_are_near_their_roof_four_at_0_63_and_two_tiny():
    items = program("ln_hand.raw.csv.gz").by("call")
    launches = sorted((item.roof_fraction, item.calls) for item in items)

    tiny = [calls for fraction, calls in launches if fraction < 0.05]
    broadcast = [(fraction, calls) for fraction, calls in launches if 0.6 < fraction < 0.66]
    near = [calls for fraction, calls in launches if fraction > 0.85]
    assert (sum(tiny), sum(calls for _, calls in broadcast), sum(near)) == (2, 4, 3)
    assert sum(calls for _, calls in launches) == 9


def test_ln_hand_says_why_the_broadcasts_are_below_the_roof():
    """Four kernels with 4 B a thread; 285 us of their 768 us are to win by themselves."""
    found = finding("ln_hand.raw.csv.gz", "RF409")

    assert "reaches 63% of its dram roof: too few bytes in flight" in found.claim
    assert found.saves_s == pytest.approx(285e-6, rel=0.01)
    assert codes("ln_hand.raw.csv.gz")[0] == "RF409"


# decode_1: one token through one transformer block


def test_decode_is_bound_by_starting_kernels():
    """28 kernels in two steps; 1.88 ms of 2.02 ms nothing ran."""
    found = finding("decode_1.json.gz", "RF301")

    assert codes("decode_1.json.gz")[0] == "RF301"
    assert "93% of a step" in found.claim
    assert (
        "20 of 28 starts a step are of kernels over before the next can be started"
        in found.evidence[3]
    )


def test_decode_is_launch_bound_by_counters_alone():
    """14 kernels x 6.825 us to start = 95.5 us; they run 87.04 us."""
    found = finding("decode_1.raw.csv.gz", "RF305")

    assert codes("decode_1.raw.csv.gz")[:2] == ["RF006", "RF305"]  # a doubt, then advice
    assert "14 starts one by one take 95.5 us, what they start runs 87.0 us" in found.claim


def test_decode_executes_nine_times_its_useful_flop():
    """Useful: 2 x 2048 x (6144 + 2048 + 8192 + 8192) + attention 4 x 16 x 128 x 2048 = 0.1174 G.

    By the rule of tiles 8 times for the products (n8) and 16 times for attention (m16): 1.0737 G;
    by counters 1.075839 G.
    """
    items = program("decode_1.json.gz").by("call")
    works = [item.placement.work for item in items if tensor_flop(item.placement.work.algorithmic)]
    useful = sum(tensor_flop(work.algorithmic) for work in works) / 2
    by_rule = sum(tensor_flop(work.executed) for work in works) / 2
    counted = sum(
        tensor_flop(item.placement.work.executed)
        for item in program("decode_1.raw.csv.gz").by("call")
    )

    assert useful == 2 * 2048 * (6144 + 2048 + 8192 + 8192) + 4 * 16 * 128 * 2048 == 117_440_512
    assert counted == 1_075_838_976
    assert by_rule == pytest.approx(counted, rel=0.002)
    padding = finding("decode_1.json.gz", "RF202")
    assert "run up to 16 times the flop their shapes need" in padding.claim
    # nothing is bound by a pipe: filling the tiles costs nothing, emptying them gains nothing
    assert padding.saves_s == 0.0


def test_decode_reads_its_weights_from_dram_although_each_would_fit_the_l2():
    """8.4 to 33.6 MB a product, 117 MB a token, under an L2 of 62 MB: 53 to 63 % of the DRAM roof.

    By counters the same four launches (one of them two kernels) reach 51 to 61 %.
    """
    products = [i for i in program("decode_1.json.gz").by("call") if i.name in PRODUCTS]

    assert [item.placed_at for item in products] == [DRAM] * 4
    assert [item.placement.perhaps_at for item in products] == [None] * 4
    large = [i.roof_fraction for i in products if i.ledger.footprint > 20e6]
    assert min(large) == pytest.approx(0.53, abs=0.01)
    assert max(large) == pytest.approx(0.63, abs=0.01)


# train_eager: a training step of two transformer blocks


def test_training_spends_60_percent_of_a_step_between_kernels():
    found = finding("train_eager.json.gz", "RF301")
    whole = program("train_eager.json.gz").whole

    assert codes("train_eager.json.gz")[0] == "RF301"
    assert found.saves_s == pytest.approx(whole.gap_s)
    assert whole.gap_s / whole.step_s == pytest.approx(0.60, abs=0.01)


def test_training_products_are_on_their_roof_and_a_third_of_device_time():
    """24 GEMMs, 1,236,950,581,248 flop a step; 1.64 of 4.54 ms, at the library's ceiling."""
    items = [i for i in program("train_eager.json.gz").by("operator") if i.name in PRODUCTS]
    busy_s = program("train_eager.json.gz").whole.busy_s

    assert sum(tensor_flop(item.placement.work.algorithmic) for item in items) == (
        2 * 1_236_950_581_248
    )
    assert all(0.94 < item.roof_fraction < 1.05 for item in items)
    assert sum(item.measured_s for item in items) / 2 / busy_s == pytest.approx(0.36, abs=0.01)


def test_training_attention_is_below_its_roof():
    """Causal flop only: forward 38 % of the library's ceiling, backward 24 %."""
    items = {item.name: item for item in program("train_eager.json.gz").by("operator")}
    forward = items["aten::_scaled_dot_product_cudnn_attention"]
    backward = items["aten::_scaled_dot_product_cudnn_attention_backward"]

    # two blocks and two steps of 4 H D S (S + 1) / 2 a batch element
    assert tensor_flop(forward.placement.work.algorithmic) == 4 * 8 * 16 * 4 * 64 * 1024 * 1025 // 2
    assert forward.roof_fraction == pytest.approx(0.38, abs=0.01)
    assert backward.roof_fraction == pytest.approx(0.24, abs=0.01)
    assert "attention_backward" in finding("train_eager.json.gz", "RF201").claim


@pytest.mark.parametrize("name", ["ln_hand.json.gz", "decode_1.json.gz", "train_eager.json.gz"])
def test_the_answer_begins_with_what_costs_most(name):
    findings = diagnose(program(name))
    saves = [f.saves_s or 0.0 for f in findings if f.doubt_s is None]

    assert saves == sorted(saves, reverse=True)
    assert answer(program(name), findings)[1].startswith("First, ")


def test_training_copies_are_one_finding():
    """44 casts, two stacks and two clones a step: 0.71 of 4.54 ms."""
    found = finding("train_eager.json.gz", "RF105")

    assert found.saves_s == pytest.approx(0.706e-3, rel=0.01)
    assert found.evidence[0].startswith("into another type: 44 calls")
    assert found.evidence[1].startswith("into another place or layout: 4 calls")
    assert codes("train_eager.json.gz")[:2] == ["RF301", "RF105"]


def test_a_loop_over_the_parameters_is_one_update_to_fuse():
    """25.2 M parameters of the matrices, eight calls each; fused AdamW moves 28 B of each."""
    found = finding("train_eager.json.gz", "RF101")

    assert found.item == "the optimizer's update"
    assert "need at least 7.0" in found.claim
    assert found.evidence[-1].startswith("fused: 567 us -> 16")


def test_training_uses_a_sixth_of_the_tensor_pipes():
    """1,342 Gflop a step: the GEMMs' 1,237 and attention's 103; over 11.4 ms x 761 Tflop/s, 15.5 %."""
    use = mfu(program("train_eager.json.gz"))

    attention = 3 * 2 * 8 * 16 * 4 * 64 * 1024 * 1025 // 2  # forward, and backward twice of it
    assert use.amount == pytest.approx(1_236_950_581_248 + attention)
    assert use.share == pytest.approx(0.155, abs=0.001)


def test_a_recording_needs_few_findings():
    """Five are shown at first; a training step has two causes more, and products to leave alone."""
    for name, most in (("ln_hand", 5), ("decode_1", 5), ("train_eager", 8)):
        assert len(diagnose(program(f"{name}.json.gz"))) <= most
        assert len(diagnose(program(f"{name}.raw.csv.gz"))) <= most


# The trace and the counters of each as one run


@cache
def both(name):
    files = [TRACES / f"{name}.json.gz", COUNTERS / f"{name}.raw.csv.gz"]
    return read(replace(importers.load(files), device=MEASURED))


def test_ln_hand_together_says_why_its_broadcasts_are_slow_and_that_fusing_wins_more():
    """Of operators, in the program's own time: 1.60 ms of four lines, 1.00 ms at their roof."""
    findings = diagnose(both("ln_hand"))
    fuse, narrow = findings[:2]

    assert (fuse.code, narrow.code) == ("RF101", "RF409")
    assert narrow.claim.startswith("sub asks memory for little at a time and reaches 62%")
    assert "3 more kernels likewise" in narrow.claim
    assert narrow.saves_s == pytest.approx(597e-6, rel=0.01)
    assert fuse.saves_s > 3 * narrow.saves_s


def test_ln_hand_together_counts_what_the_formula_does_not_ask_for():
    """A subtraction multiplies its second operand by a factor: two flop an element, by counters."""
    program = both("ln_hand")
    (sub,) = (item for item in program.by("call") if item.name == "aten::sub")
    replay = program.replays[sub.signatures[0]]

    assert replay.executed.flop == 2 * 16384 * 4096
    assert sub.ledger.flop == sub.calls * 16384 * 4096
    assert replay.achieved.demand()[DRAM] == pytest.approx(2 * BIG, rel=0.05)


def test_decode_together_fills_eight_rows_where_one_is_asked_for():
    """Products 8 times, attention 16 times, and weights once."""
    program = both("decode_1")
    for item in program.by("call"):
        if not tensor_flop(item.placement.work.algorithmic):
            continue
        replay = program.replays[item.signatures[0]]
        times = tensor_flop(replay.executed) * item.calls / tensor_flop(item.ledger)
        # the split product pads its parts as well: 8.06 times
        assert times == pytest.approx(16 if "attention" in item.name else 8, rel=0.01)
        needed = sum(e.amount for e in item.ledger.entries if e.resource.unit == "B")
        moved = replay.achieved.demand()[DRAM] * item.calls
        assert moved == pytest.approx(needed, rel=0.03)


def test_training_together_leaves_the_times_as_they_were():
    """And what the page does not reach, two thirds of a step, has no counters."""
    alone, joined = program("train_eager.json.gz"), both("train_eager")

    assert joined.whole == alone.whole
    assert 0 < len(joined.replays) < len(alone.by("call")) / 2
