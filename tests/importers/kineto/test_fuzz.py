"""Bent samples: whatever the file holds, a run comes out or one sentence; nothing hangs or grows."""

import gzip
import random
import time
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.errors import RooflineError
from roofline.importers import load
from roofline.importers.kineto import trace as read
from roofline.importers.kineto.stretches.divide import ROWS, Stretches
from roofline.report.document import of_run
from tests.importers.kineto.traces import Trace, matmul
from tests.importers.memory import bounded

HERE = Path(__file__).parent
SLOWEST_S = 5.0
TOKENS = (
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"},\n  {", b"NaN", b"-Infinity", b"null",
    b"1e400", b"-1", b"0", b"9" * 30, b"\xff\xfe", b"\x00", b'"args": {', b'"ts": "x"', b'"dur": -5',
    b'"ts": 0', b'"traceEvents": [', b"[[[[[[", b'"Input Dims": [[1, -2], 3, "x"]', b'"Input type": 7',
    b'"correlation": 1', b'"cat": "kernel"', b'"cat": "gpu_memcpy"', b'"name": "ProfilerStep#1"',
    b'"name": "cudaGraphLaunch"', b'"name": "Optimizer.step#A"', b'"Sequence number": 1',
)  # fmt: skip


def _samples() -> list[bytes]:
    """Small whole traces: a recording, and one by hand with some of everything."""
    trace = Trace(deviceProperties=[], distributedInfo={"rank": 1})
    trace.add("user_annotation", "ProfilerStep#1", 0, 900)
    matmul(trace, 0)
    trace.op("autograd::engine::evaluate_function: X", 100, 50, args={"Sequence number": 1})
    trace.op("aten::cat", 101, 20, ((4, 4), "bf16"), "[1, 2]", tid=2)
    trace.op("aten::addcmul_", 160, 9, ((4,), "fp32"), ((4,), "fp32"), ((4,), "fp32"), "0.1")
    trace.add("python_function", "nn.Module: Net_0", 90, 90)
    trace.kernel("Memcpy HtoD (a -> b)", 300, 4, launch=121, cat="gpu_memcpy", bytes=64)
    trace.kernel(
        "layer", 310, 4, launch=122, by="cudaGraphLaunch", grid=[1, 2, 3], block=[32, 1, 1]
    )
    trace.add("overhead", "Buffer Flush", 500, 10, pid=-1)
    by_hand = trace.text().encode()
    recorded = gzip.decompress((HERE / "torch-2.11" / "ln_hand.json.gz").read_bytes())
    return [by_hand, recorded[:9_000] + recorded[-400:]]


SAMPLES = _samples()


def bent(data: bytes, seed: int) -> bytes:
    """`data` with a few tokens written over it, put in, taken out, doubled; perhaps cut off."""
    chance = random.Random(seed)
    out = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(out) + 1)
        token = chance.choice(TOKENS)
        kind = chance.randrange(5)
        if kind == 0:
            out[at:at] = token
        elif kind == 1:
            out[at : at + len(token)] = token
        elif kind == 2:
            del out[at : at + chance.choice((1, 3, 40, 400))]
        elif kind == 3:
            piece = out[at : at + chance.choice((20, 300))]
            out[at:at] = piece
        else:
            value = out.find(b": ", at)
            if value >= 0:
                end = min(
                    e for e in (out.find(b",", value), out.find(b"}", value), len(out)) if e >= 0
                )
                out[value + 2 : end] = token
    if chance.random() < 0.1:
        del out[chance.randrange(len(out) + 1) :]
    return bytes(out)


def survives(path: Path, data: bytes, rows: int = ROWS) -> None:
    """One file, in stretches of so many rows: a run whose document can be made, or one sentence."""
    path.write_bytes(data)
    began = time.process_time()
    said = ""
    with patch.object(read, "Stretches", partial(Stretches, rows=rows)):
        try:
            of_run(load([path]))
        except RooflineError as error:
            said = str(error)
    assert "\n" not in said
    assert time.process_time() - began < SLOWEST_S


def fuzz(examples: int, part: int):
    """The property, tried on so many bent samples; another part bends them otherwise."""

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(
        sample=st.sampled_from(SAMPLES),
        seed=st.integers(0, 2**32 - 1),
        rows=st.sampled_from([ROWS, 10]),
    )
    def property_(tmp_path, sample, seed, rows):
        survives(tmp_path / "bent.json", bent(sample, seed + (part << 32)), rows)

    return property_


@pytest.mark.parametrize("part", range(11, 16))
def test_five_thousand_bent_traces(tmp_path, part):
    """A thousand each: one test must end in time on a slow machine too."""
    with bounded():
        fuzz(1_000, part)(tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(1, 11))
def test_a_hundred_thousand_bent_traces(tmp_path, part):
    with bounded():
        fuzz(10_000, part)(tmp_path)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=400))
def test_anything_after_the_start_of_a_trace(tmp_path, data):
    survives(tmp_path / "any.json", b'{"traceEvents": [' + data)
