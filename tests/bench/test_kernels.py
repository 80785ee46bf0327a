"""Every way of making kernels computes the same known answers."""

import ctypes
import shutil
import stat
import sys
from array import array

import pytest

from roofline.bench.cpu import jit, making, native, operators
from roofline.bench.cpu.buffer import APART, Buffer, room
from roofline.bench.cpu.kernels import ARRAYS, CHAINS, ELEMENT, STREAMS
from roofline.device import VECTOR_FP32, VECTOR_FP64, VECTOR_INT32
from roofline.errors import Missing

ELEMENTS = 4096  # a multiple of every grain


@pytest.fixture(scope="module", autouse=True)
def torch_threads():
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def present(way) -> None:
    if way is native and not any(map(shutil.which, native.COMPILERS)):
        pytest.skip("no C compiler on this machine")
    if way is jit:
        pytest.importorskip("llvmlite", reason="llvmlite is not installed")


@pytest.fixture(scope="module", params=[native, jit, operators], ids=["c", "llvmlite", "torch"])
def made(request, tmp_path_factory):
    present(request.param)
    patch = pytest.MonkeyPatch()
    patch.setenv("ROOFLINE_HOME", str(tmp_path_factory.mktemp("home")))
    yield request.param.make()
    patch.undo()


def block(values) -> tuple[array, int]:
    """fp32 values at an address that is a multiple of 64, with a guard element behind them."""
    data = array("f", [0.0] * (len(values) + 33))
    start = -(-data.buffer_info()[0] // 64) * 64
    first = (start - data.buffer_info()[0]) // 4
    data[first : first + len(values)] = array("f", values)
    data[first + len(values)] = 77.0
    return data, start


def read(address: int, elements: int) -> list[float]:
    return list((ctypes.c_float * elements).from_address(address))


def test_read_adds_up_every_element_once(made):
    # 1 + 2 + ... + 4096 = 4096 * 4097 / 2 = 8390656, exact in fp32 (below 2**24).
    data, a = block(range(1, ELEMENTS + 1))
    for way, kernel in made.streams["read"].items():
        if way != "torch.dot":
            assert kernel(a, a, a, ELEMENTS, 1) == 8390656.0, way
    del data


def test_dot_reads_every_element_once():
    # 4096 times 2 * 2.
    data, a = block([2.0] * ELEMENTS)
    assert operators.make().streams["read"]["torch.dot"](a, a, a, ELEMENTS, 1) == 16384.0
    del data


def test_copy_writes_every_element_and_nothing_behind(made):
    kept, source = block([float(k) for k in range(ELEMENTS)])
    for way, kernel in made.streams["copy"].items():
        data, target = block([-1.0] * ELEMENTS)
        kernel(target, source, source, ELEMENTS, 3)
        assert read(target, ELEMENTS) == [float(k) for k in range(ELEMENTS)], way
        assert read(target + ELEMENTS * ELEMENT, 1) == [77.0], way
        del data
    del kept


def test_triad_scales_the_third_array(made):
    # a = b + 1.25 c, with c = 4k: k + 5k = 6k, all exact.
    kept = [block([float(k) for k in range(ELEMENTS)]), block([4.0 * k for k in range(ELEMENTS)])]
    for way, kernel in made.streams["triad"].items():
        data, target = block([-1.0] * ELEMENTS)
        kernel(target, kept[0][1], kept[1][1], ELEMENTS, 2)
        assert read(target, ELEMENTS) == [6.0 * k for k in range(ELEMENTS)], way
        assert read(target + ELEMENTS * ELEMENT, 1) == [77.0], way
        del data


def test_update_changes_every_element_in_place(made):
    # x * -0.99999 + 1.25 twice; torch has no such operator and takes -x.
    start = [float(k % 1000) for k in range(ELEMENTS)]
    for way, kernel in made.streams["update"].items():
        data, a = block(start)
        kernel(a, a, a, ELEMENTS, 2)
        twice = (
            start
            if way == "torch.neg"
            else [-0.99999 * (-0.99999 * x + 1.25) + 1.25 for x in start]
        )
        assert read(a, ELEMENTS) == pytest.approx(twice, rel=1e-5, abs=1e-4), way
        assert read(a + ELEMENTS * ELEMENT, 1) == [77.0], way
        del data


def test_write_fills_every_element_with_what_is_not_zero(made):
    kept, source = block([float(k + 1) for k in range(ELEMENTS)])
    for way, kernel in made.streams["write"].items():
        data, a = block([-1.0] * ELEMENTS)
        kernel(a, source, source, ELEMENTS, 2)
        written = read(a, ELEMENTS)
        # The first vectors of the second array, over and over; torch writes one number.
        period = 1 if way == "torch fill_" else len(set(written))
        assert written == written[:period] * (ELEMENTS // period), way
        assert min(written) > 0, way
        assert read(a + ELEMENTS * ELEMENT, 1) == [77.0], way
        del data
    del kept


def test_every_access_has_a_way_and_names_match_the_table(made):
    assert set(made.streams) == set(ARRAYS)
    assert all(made.streams.values())
    assert ELEMENTS % made.grain == 0
    if made.chains:
        assert all(set(ways) <= set(STREAMS[access]) for access, ways in made.streams.items())


@pytest.fixture(scope="module", params=[native, jit], ids=["c", "llvmlite"])
def registers(request, tmp_path_factory):
    present(request.param)
    patch = pytest.MonkeyPatch()
    patch.setenv("ROOFLINE_HOME", str(tmp_path_factory.mktemp("home")))
    yield request.param.make()
    patch.undo()


def lanes_and_chains(chain, per_lane: int, resource) -> tuple[int, int]:
    """From the text: "24 independent 64 B vectors of ..."."""
    count, _, width = chain.what.split()[:3]
    lanes = int(width) // CHAINS[resource][1]
    assert chain.work == int(count) * lanes * per_lane
    return int(count), lanes


@pytest.mark.parametrize("resource", [VECTOR_FP32, VECTOR_FP64])
@pytest.mark.parametrize("passes", [1, 2, 1000])
def test_fma_chains_compute_what_they_count(registers, resource, passes):
    chain = registers.chains[resource]
    count, lanes = lanes_and_chains(chain, 2, resource)
    assert count >= 8
    xs = [float(j + 1) for j in range(count)]
    for _ in range(passes):
        xs = [x * -0.99999 + 0.5 for x in xs]
    # fp32 rounds 1000 times by at most 2**-24 of values up to 24; they do not cancel.
    assert chain.run(passes) == pytest.approx(lanes * sum(xs), rel=1e-4)


@pytest.mark.parametrize("passes", [1, 2, 1000])
def test_integer_chains_compute_what_they_count(registers, passes):
    chain = registers.chains[VECTOR_INT32]
    count, lanes = lanes_and_chains(chain, 2, VECTOR_INT32)
    xs = list(range(1, count + 1))
    for _ in range(passes):
        xs = [((x + 0x2545F491) % 2**32) ^ 0x1D872B41 for x in xs]
    assert chain.run(passes) == lanes * sum(xs)


def test_buffers_hold_normal_random_numbers_and_arrays_apart(registers):
    size = room(3 << 20)
    buffer = Buffer(size)
    buffer.fill(next(iter(registers.streams["copy"].values())))
    values = read(buffer.address, size // 4)
    assert all(0.5 <= v <= 1.5 for v in values)
    assert len(set(values[: 1 << 18])) > 250_000  # of 262144: hardly any twice
    a, b, c = buffer.arrays("triad", 65536)
    assert (b - a, c - b) == (65536 * 4 + APART,) * 2
    assert (b - a) % 64 == 0
    assert (b - a) // 64 % 2 == 1
    assert (b - a) % 4096 != 0 != (c - a) % 4096
    assert buffer.arrays("read", 65536) == (a, a, a)
    assert c + 65536 * 4 <= buffer.address + size


# The choice between them.


def hide(monkeypatch, *names: str) -> None:
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def test_without_a_compiler_llvmlite_is_taken_and_says_so(monkeypatch, tmp_path):
    present(jit)
    monkeypatch.setenv("PATH", str(tmp_path))
    made = making.make()
    assert made.made_by.startswith("llvmlite ")
    assert made.passed_over == ("no C compiler on the PATH; looked for gcc, clang, cc",)


def test_without_both_torch_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    hide(monkeypatch, "llvmlite")
    made = making.make()
    assert made.made_by.startswith("torch ")
    assert made.chains == {}
    assert made.passed_over[1] == "llvmlite is not installed (pip install 'roofline[cpu]')"


def test_without_anything_one_sentence_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    hide(monkeypatch, "llvmlite", "torch")
    with pytest.raises(Missing, match=r"no C compiler.*llvmlite.*torch is not installed"):
        making.make()


def compiler(folder, body: str) -> None:
    path = folder / "gcc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_compiler_that_fails_is_named_with_its_last_line(monkeypatch, tmp_path):
    compiler(
        tmp_path, 'test "$1" = --version && echo toy 1.0 || { echo "no crt here" >&2; exit 1; }'
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "home"))
    with pytest.raises(Missing, match=r"builds the kernels: .*gcc: no crt here$"):
        native.make()
    assert list((tmp_path / "home" / "kernels").iterdir()) == []


def test_a_built_library_is_kept_and_found_again(monkeypatch, tmp_path):
    present(native)
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    native.make()
    kept = list((tmp_path / "kernels").iterdir())
    assert len(kept) == 1
    run, sources = native._run, []

    def watched(command, stdin=b""):
        sources.append(stdin)
        return run(command, stdin)

    monkeypatch.setattr(native, "_run", watched)
    assert native.make().streams["read"]
    assert list((tmp_path / "kernels").iterdir()) == kept
    assert sources == [b""]  # it asked for the compiler's version and compiled nothing


def test_a_damaged_library_is_built_again(monkeypatch, tmp_path):
    present(native)
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "one"))
    native.make()
    [kept] = (tmp_path / "one" / "kernels").iterdir()
    # Another folder: this process has the first library open.
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "two"))
    damaged = tmp_path / "two" / "kernels" / kept.name
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"not a library")
    assert native.make().made_by
    assert damaged.read_bytes()[:4] == b"\x7fELF"


def test_where_nothing_can_be_kept_a_temporary_folder_serves(monkeypatch, tmp_path):
    present(native)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "file"))
    assert native.make().streams["read"]
