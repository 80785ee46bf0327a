"""Bent samples of every format but traces: a run comes out or one sentence; nothing hangs or grows."""

import gzip
import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline import runfile
from roofline.errors import RooflineError
from roofline.importers import load
from roofline.report.document import of_run
from tests.importers.ceilings import test_ceilings
from tests.importers.jax import test_jax
from tests.importers.likwid import test_likwid
from tests.importers.memory import bounded
from tests.importers.ncu.exports import RECORDED, details, metrics
from tests.importers.ncu.test_trouble import SAXPY
from tests.importers.nsys import test_stats
from tests.importers.nsys.databases import kernel, launch, pushed, write
from tests.importers.proton.test_proton import node
from tests.importers.rocprof import test_tables

SLOWEST_S = 5.0
TOKENS = (
    b'"', b'""', b"'", b",", b";", b"\t", b"\n", b"\r\n", b"\r", b"\xff\xfe", b"\x00", b"\xef\xbb\xbf", b"(", b")", b"-",
    b"1e400", b"-5", b"0", b"9" * 40, b"NaN", b"inf", b"n/a", b"1,024", b"1.024", b"65,77", b"Tbyte", b"furlong/s", b"{", b"}",
    b"[", b"]", b"null", b"true", b'"Kernel Name"', b'"Metric Name"', b'"ID"', b"==ERROR== x", b"==PROF==", b"TABLE,", b"_Z9", b"_ZN5",
)  # fmt: skip


def _samples() -> list[bytes]:
    """One of everything, small."""
    raw = gzip.decompress((RECORDED / "ln_hand.raw.csv.gz").read_bytes())
    long = gzip.decompress((RECORDED / "ln_hand.details.csv.gz").read_bytes())
    trace = json.dumps(
        {"traceEvents": [*test_jax.HEAD, test_jax.ran("fusion", 10.0, 1.5, **test_jax.FUSION)]}
    )
    proton = json.dumps(
        [node("ROOT", [node("f", [node("gemm", time=10.0, count=2, flops16=64, bytes=48)])])]
    )
    text = (
        details(*metrics(0, "_ZN2at6native4gemmIfEEvPT_", SAXPY)), test_stats.TRACE, test_stats.SUMMARY,
        test_tables.TRACE, test_tables.COUNTED, test_tables.OLD, test_tables.STATS, json.dumps(test_tables.DOCUMENT),
        trace, proton, test_likwid.REGION, json.dumps(test_ceilings.ERT), test_ceilings.AMD,
    )  # fmt: skip
    lines = raw.splitlines(keepends=True)
    return [
        b"".join(lines[:4]),
        b"".join(long.splitlines(keepends=True)[:70]),
        *(t.encode() for t in text),
    ]


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
            out[at:at] = out[at : at + chance.choice((20, 300))]
        else:  # one cell or value becomes something else
            end = min(e for e in (out.find(b",", at + 1), len(out)) if e >= 0)
            out[at + 1 : end] = token
    if chance.random() < 0.1:
        del out[chance.randrange(len(out) + 1) :]
    return bytes(out)


def survives(path: Path, data: bytes) -> None:
    """One file: a run whose document can be made and that can be saved, or one sentence."""
    path.write_bytes(data)
    began = time.process_time()
    said = ""
    try:
        run = load([path])
        json.dumps(of_run(run), allow_nan=False)
        runfile.save(run, path.with_suffix(".roof"))
    except RooflineError as error:
        said = str(error)
    assert "\n" not in said
    assert time.process_time() - began < SLOWEST_S


def fuzz(examples: int, samples: list[bytes], part: int = 0):
    """The property, tried on so many bent samples; another part bends them otherwise."""

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(sample=st.sampled_from(samples), seed=st.integers(0, 2**32 - 1))
    def property_(tmp_path, sample, seed):
        survives(tmp_path / "bent", bent(sample, seed + (part << 32)))

    return property_


def database(folder: Path) -> bytes:
    """A small Nsight Systems database."""
    return write(
        folder / "whole",
        kernels=[kernel(1000 * at, 1000 * at + 500, at) for at in range(1, 6)],
        runtime=[launch(1000 * at - 50, 1000 * at - 10, at) for at in range(1, 6)],
        nvtx=[pushed(0, 2500, "step 1"), pushed(2500, 9000, "step 2"), pushed(10, 900, "model")],
    ).read_bytes()


def test_bent_tables_and_documents(tmp_path):
    with bounded():
        fuzz(2_000, SAMPLES)(tmp_path)


def test_bent_databases(tmp_path):
    with bounded():
        fuzz(200, [database(tmp_path)])(tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(1, 11))
def test_a_hundred_thousand_bent_files(tmp_path, part):
    with bounded():
        fuzz(10_000, [*SAMPLES, database(tmp_path)], part)(tmp_path)
