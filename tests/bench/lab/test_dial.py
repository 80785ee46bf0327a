"""The dial's arithmetic on machines that are made up, and on this one."""

import pytest

from roofline.bench.lab import cpu_dial, dial, gpu_dial
from roofline.bench.lab.dial import FS, Step
from roofline.bench.sample import Sample, Samples
from roofline.errors import Missing

PEAK, BANDWIDTH = 66e12, 4.2e12


def machine(peak=PEAK, bandwidth=BANDWIDTH, fs=FS):
    """Elements a second are whichever roof is lower: bandwidth/8, or peak/2F."""
    return [Step(f, min(bandwidth / 8, peak / (2 * f))) for f in fs]


def test_a_step_counts_two_flop_an_fma_and_eight_bytes_an_element():
    step = Step(64, 1e9)
    assert (step.intensity, step.bytes_per_s, step.flop_per_s) == (16.0, 8e9, 128e9)


def test_the_ridge_of_a_perfect_machine():
    """66 Tflop/s over 4.2 TB/s: 15.71 flop/B."""
    steps = machine()
    assert dial.slope(steps) == pytest.approx(BANDWIDTH)
    assert dial.plateau(steps) == pytest.approx(PEAK)
    assert dial.ridge(steps) == pytest.approx(15.714, rel=1e-4)


def test_a_dial_that_stays_on_one_roof_has_no_ridge():
    assert dial.ridge(machine(fs=(1, 2, 4, 8))) is None  # never computes
    assert dial.ridge(machine(fs=(256, 512, 1024))) is None  # always does
    short = dial.outcome("toy", machine(fs=(1, 2, 4, 8)), gpu=True)
    assert short.answer is None
    assert short.notes == ("the dial did not reach both roofs",)


def test_cycles_of_a_dependent_fma():
    """132 x 128 lanes at 2 GHz and 4 cycles an FMA: 8.448e12 FMA/s, 4.125e9 elements of 2048."""
    step = Step(2048, 132 * 128 * 2e9 / 4 / 2048)
    assert dial.cycles_per_fma(step, 132 * 128, 2e9) == pytest.approx(4.0)


def test_one_chain_answers_with_the_latency():
    found = dial.outcome("toy", machine(), gpu=True, latency=4.1, chains=1)
    assert (found.question, found.answer) == (dial.LATENCY, 4.1)
    assert found.rows[0][:4] == (1, 0.25, BANDWIDTH, BANDWIDTH / 4)


def test_on_a_cpu_the_stores_that_read_are_told():
    """Twice the reads of what is stored: 12 B move for the 8 that are counted."""
    (told,) = dial.outcome("toy", machine(), gpu=False).notes
    assert "12 B move" in told
    assert dial.outcome("toy", machine(), gpu=True).notes == ()


def test_one_chain_on_a_cpu_says_where_it_falls_from_and_why():
    """32 FMAs at 54.4 Gflop/s; 2048 at 28.7: 16 lanes x 2 flop x 3.58 GHz / 4 cycles."""
    steps = [Step(1, 3e9), Step(2, 3e9), Step(32, 0.85e9), Step(2048, 7e6)]
    told = dial.outcome("toy", steps, gpu=False, latency=4.0, chains=1).notes[-1]

    assert told.startswith("at F = 32 the core begins the next elements")
    assert "54.4 Gflop/s" in told
    assert told.endswith("at F = 2048 every FMA waits for the one before, 28.7 Gflop/s")
    flat = [*steps[:3], Step(2048, 13.3e6)]  # 54.5 Gflop/s: nothing falls
    assert len(dial.outcome("toy", flat, gpu=False, latency=4.0, chains=1).notes) == 1


class Compiled:
    def __init__(self, count):
        self.asm = {
            "sass": "        /*0040*/ FFMA R0, R0, R4, R5 ;\n" * count + " FADD R1, R1, R2 ;"
        }


@pytest.mark.parametrize(
    ("count", "f", "chains", "said"),
    [
        (4, 1, 4, "1 a chain"),
        (256, 64, 4, "64 a chain"),
        (256, 2048, 4, "64 a chain, 32 times"),  # 32 rounds of 64
        (512, 128, 4, "64 a chain, 2 times, unrolled 2 times"),
        (255, 64, 4, "255 FMAs for 4 chains: not 64 each"),  # the compiler dropped one
        (0, 8, 4, "0 FMAs for 4 chains: not 8 each"),
    ],
)
def test_machine_code_is_counted(count, f, chains, said):
    assert gpu_dial.holds(Compiled(count), f, chains) == said


def test_machine_code_that_nobody_can_read_says_nothing():
    assert gpu_dial.holds(object(), 8, 4) == ""


def test_busy_machines_are_timed_by_cpu_time():
    """Half of the time was somebody else's: 10 a second of wall time are 20 of CPU time."""
    assert cpu_dial.rate(Samples((Sample(10.0, 0.5),))) == 20.0
    assert cpu_dial.rate(Samples((Sample(10.0, 0.5), Sample(19.0, 0.99)))) == 19.0


def test_the_c_loop_computes_and_keeps_its_chains():
    """Each of F = 3 steps is x -> 2 - x: an odd number of them is 2 - x."""
    import array

    try:
        made = cpu_dial.loops()
    except Missing as error:
        pytest.skip(str(error))
    count = made.chains * made.lanes
    buffer = array.array("f", [0.0] * (2 * count + 64))
    start = buffer.buffer_info()[0]
    x = -(-start // 64) * 64
    first = (x - start) // 4
    for i in range(count):
        buffer[first + i] = i / 8
    for run in (made.many, made.one):
        run(x, x + 4 * count, count, 3, 1)
        assert list(buffer[first + count : first + 2 * count]) == [2 - i / 8 for i in range(count)]
    assert made.ticks(64) == 64 + 64 * 1  # 64 additions of i = 1
