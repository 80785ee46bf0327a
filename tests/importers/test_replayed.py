"""A trace and the counters of its kernels as one run: which launch is which kernel, and what is kept."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from roofline import counters, runfile
from roofline.called import readable
from roofline.cli import main
from roofline.devices import resolve
from roofline.errors import BadInput
from roofline.importers import load
from roofline.importers.matching import match
from roofline.importers.replayed import base, joined
from roofline.measurement import CacheState
from roofline.runfile import Event, table
from tests.importers.ncu import exports
from tests.importers.nsys import databases

HERE = Path(__file__).parent
TRACES, PAGES = HERE / "kineto" / "torch-2.11", HERE / "ncu" / "2025.3"
WORKLOADS = {"ln_hand": 9, "decode_1": 14, "train_eager": 100}


def both(workload):
    return load([TRACES / f"{workload}.json.gz", PAGES / f"{workload}.raw.csv.gz"])


@pytest.mark.parametrize(("workload", "launches"), WORKLOADS.items())
def test_every_launch_finds_its_kernel(workload, launches):
    """The kernel of the same function, grid and block; times and steps stay those of the trace."""
    alone, run = load([TRACES / f"{workload}.json.gz"]), both(workload)
    rows = run.rows()
    replays = [row for row in rows if row["kind"] == "replay"]

    assert rows[: len(alone.rows())] == alone.rows()
    assert (run.steps, run.recorder) == (alone.steps, alone.recorder)
    assert [gap.name for gap in run.gaps] == [*(gap.name for gap in alone.gaps), "metrics"]
    assert len(replays) == launches == len(rows) - len(alone.rows())
    assert [row["counters"]["ID"] for row in replays] == list(range(launches))
    for row in replays:
        kernel = rows[row["parent"]]
        assert (kernel["kind"], row["step"]) == ("kernel", -1)
        assert kernel["counters"]["grid"] == row["counters"]["launch__grid_size"]
        assert kernel["counters"]["block"] == row["counters"]["launch__block_size"]
    assert (run.replays.tool, run.replays.cache) == ("Nsight Compute", "unknown")


def test_flop_of_the_linears_equal_the_counters_within_one_run():
    """The 21 replayed GEMMs, each by its operator's formula and by its own counters: the same digits."""
    run = both("train_eager")
    rows = run.rows()
    pairs = []
    for row in rows:
        if (
            row["kind"] == "replay"
            and row["counters"]
            and "nvjet" in run.signatures[row["signature"]].name
        ):
            operator = run.signatures[rows[rows[row["parent"]]["parent"]]["signature"]]
            counted = counters.executed(row["counters"]).demand()
            pairs.append((_tensor(operator.ledger.demand()), _tensor(counted)))

    assert len(pairs) == 21
    assert all(formula == counted for formula, counted in pairs)
    assert sum(counted for _, counted in pairs) == 1_116_691_496_960


def _tensor(demand):
    return sum(n for pipe, n in demand.items() if pipe.name.startswith("tensor"))


def test_saved_and_loaded_it_is_the_same(tmp_path):
    run = both("decode_1")
    runfile.save(run, tmp_path / "a.roof")
    again = runfile.load(tmp_path / "a.roof")

    assert again.rows() == run.rows()
    assert again.replays == run.replays


def test_the_order_of_the_files_does_not_matter():
    files = [PAGES / "ln_hand.raw.csv.gz", TRACES / "ln_hand.json.gz"]
    assert load(files).rows() == both("ln_hand").rows()


def test_what_is_said_of_the_pages_is_said_of_the_replays():
    from roofline.importers import Options

    options = Options(ncu_cache=CacheState.FLUSHED)
    run = load([TRACES / "ln_hand.json.gz", PAGES / "ln_hand.raw.csv.gz"], options)

    assert (run.recorder.cache, run.replays.cache) == ("warm", "flushed")


def test_recordings_of_two_programs_are_refused():
    """Their kernels have nothing in common but element-wise ones of other sizes."""
    told = (
        r"no launch that Nsight Compute.* counted in decode_1.raw.csv.gz can be told in the timeline "
        r"of ln_hand.json.gz: .*; those of one name are of other"
    )
    with pytest.raises(BadInput, match=told):
        load([TRACES / "ln_hand.json.gz", PAGES / "decode_1.raw.csv.gz"])


def test_pages_of_another_program_beside_ones_that_fit_are_left_out_and_named():
    """One launch is one launch, two are launches."""
    pages = [PAGES / "ln_hand.raw.csv.gz", PAGES / "decode_1.raw.csv.gz"]
    run = load([TRACES / "ln_hand.json.gz", *pages])
    left = [gap for gap in run.gaps if gap.what.startswith("left out: ")]

    assert {gap.what.partition(";")[0] for gap in left if gap.count == 1} == {
        "left out: 1 replayed launch"
    }
    assert any("launches; the timeline has no kernel" in gap.what for gap in left if gap.count > 1)


def test_recordings_of_two_devices_are_refused():
    trace, page = load([TRACES / "ln_hand.json.gz"]), load([PAGES / "ln_hand.raw.csv.gz"])
    with pytest.raises(BadInput, match="they are not of one run"):
        joined(trace, replace(page, device=resolve("a100-sxm-80gb")))


def test_launches_of_other_kernels_are_gaps():
    """Of decode's 14 launches some stand in the training step under the same name and configuration."""
    trace, page = load([TRACES / "train_eager.json.gz"]), load([PAGES / "decode_1.raw.csv.gz"])
    page = replace(page, events=page.events.slice(0, 3))
    with pytest.raises(BadInput):
        joined(trace, page)
    own = load([PAGES / "train_eager.raw.csv.gz"])
    strange = own.events.slice(0, 1)
    mixed = replace(
        own,
        signatures=(*own.signatures, replace(own.signatures[0], name="warm_up<float>")),
        events=own.events.slice(1, 4),
    )
    first = strange.set_column(0, "signature", [[len(own.signatures)]])
    import pyarrow as pa

    mixed = replace(mixed, events=pa.concat_tables([first.cast(own.events.schema), mixed.events]))
    gap = joined(trace, mixed).gaps[-1]

    assert (gap.name, gap.count) == ("warm_up<float>", 1)
    assert "no kernel of this name and configuration" in gap.what


def test_chosen_launches_stand_for_the_rows_they_were_chosen_by():
    trace, page = load([TRACES / "ln_hand.json.gz"]), load([PAGES / "ln_hand.raw.csv.gz"])
    kernels = [at for at, row in enumerate(trace.rows()) if row["kind"] == "kernel"]
    page = replace(page, events=page.events.slice(0, 2))
    run = joined(trace, page, [kernels[9], None])

    (row,) = (row for row in run.rows() if row["kind"] == "replay")
    assert row["parent"] == kernels[9]
    assert run.gaps[-1].count == 1


# Kernels by letters: equal letters are alike; what they are for stands below them.

ORDERED = [
    # kernels, meanings, launches, positions
    ("abc", "123", "abc", [0, 1, 2]),
    ("abcabc", "123123", "abc", [0, 1, 2]),
    # one step of kernels, two of launches: the second stands for the same ones
    ("abc", "123", "abcabc", [0, 1, 2, 0, 1, 2]),
    # "a" is two things; what follows tells which
    ("abac", "1234", "ab", [0, 1]),
    ("abac", "1234", "ac", [2, 3]),
    # alone it fits both
    ("abac", "1234", "a", [None]),
    # launches from before the first kernel
    ("abac", "1234", "xxabac", [None, None, 0, 1, 2, 3]),
    # a filter that left one name out
    ("abacad", "123456", "aacad", [0, 2, 3, 4, 5]),
    # a short run among many launches that stand elsewhere may be chance
    ("abcabdabeabf", "0123456789xy", "fedcfedcfabd", [11, 8, 5, 2, 11, 8, 5, 2, 11, None, None, 5]),
    # equal ones that mean the same take turns
    ("aa", "11", "aaa", [0, 1, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("kernels", "meanings", "launches", "positions"), ORDERED)
def test_order_tells_what_names_do_not(kernels, meanings, launches, positions):
    found = match(kernels, meanings, launches)

    assert list(found.kernels) == positions
    assert found.absent == {at for at, one in enumerate(launches) if one not in kernels}


def test_what_cannot_be_a_kernel_is_not_it():
    """Of a run of ten one may be odd and stays apart; of two that is too much."""
    ten = match("abcdefghij", "0123456789", "abcdefghij", lambda at, kernel: at != 3)
    two = match("aba", "012", "ab", lambda at, kernel: at != 1)

    assert list(ten.kernels) == [0, 1, 2, None, 4, 5, 6, 7, 8, 9]
    assert list(two.kernels) == [None, None]
    assert two.absent == frozenset()


def test_a_replay_of_another_duration_is_another_kernel():
    """Mean of 72 us: a launch of 68 us is it, one of 680 us of the same name and grid is not."""
    trace, page = load([TRACES / "ln_hand.json.gz"]), load([PAGES / "ln_hand.raw.csv.gz"])
    first = [Event(**row) for row in page.rows()[:1]]
    slow = [replace(event, duration_ns=10 * event.duration_ns) for event in first]

    assert len(joined(trace, replace(page, events=table(first))).rows()) == len(trace.rows()) + 1
    with pytest.raises(BadInput, match="no launch that"):
        joined(trace, replace(page, events=table(slow)))


# The same kernels as PyTorch's profiler and Nsight Compute 2025.3.1 name them; the latter leaves
# brackets open.
CLAMP = (
    "at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, "
    "c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const"
    "::{lambda()#7}::operator()() const::{lambda(float)#1}"
)
BY_BOTH = [
    (
        f"void at::native::vectorized_elementwise_kernel<4, {CLAMP}, std::array<char*, 2ul> >"
        f"(int, {CLAMP}, std::array<char*, 2ul>)",
        "void vectorized_elementwise_kernel<4, unnamed>::launch_clamp_scalar(TensorIteratorBase &, "
        "c10::Scalar, c10::Scalar, detail::ClampLimits)::[lambda() (instance 1)]::operator ()() "
        "lambda() (instance 7)]::operator ()() lambda(float) (instance 1)], std::array<char *, 2>>"
        "(int, T2, T3)",
        "vectorized_elementwise_kernel",
    ),
    (
        "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, "
        "4, at::native::templates::cuda::normal_kernel<at::CUDAGeneratorImpl*>(at::TensorBase "
        "const&, double, double, at::CUDAGeneratorImpl*)::{lambda()#1}::operator()() const"
        "::{lambda(int, float)#1}>(long, at::PhiloxCudaState)",
        "void unnamed>::distribution_elementwise_grid_stride_kernel<float, 4, unnamed>::"
        "distribution_nullary_kernel<float, float, float4, at::CUDAGeneratorImpl *, "
        "templates::cuda::normal_and_transform<float, float, [lambda(int, float) (instance 1)]>"
        "(long, at::PhiloxCudaState, T3, T4)",
        "distribution_elementwise_grid_stride_kernel",
    ),
    (
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
        "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor"
        "<float> > >(at::TensorIteratorBase&, at::native::BinaryFunctor<float, float, float, "
        "at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int, "
        "at::native::gpu_kernel_impl_nocast<f>(at::TensorIteratorBase&)::{lambda(int)#1})",
        "void elementwise_kernel<128, 2, void gpu_kernel_impl_nocast<BinaryFunctor<float, float, "
        "float, binary_internal::MulFunctor<float>>>(TensorIteratorBase &, const T1 &)"
        "::[lambda(int) (instance 1)]>(int, T3)",
        "elementwise_kernel",
    ),
    (
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>"
        "(int, float, float const*, float const*, float const*, float*, float*, float*)",
        "void at::<unnamed>::vectorized_layer_norm_kernel<float, float, 0>(int, T2, const T1 *, "
        "const T1 *, const T1 *, T2 *, T2 *, T1 *)",
        "vectorized_layer_norm_kernel",
    ),
    (
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
        "void vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, std::array<char *, 3>>"
        "(int, T2, T3)",
        "vectorized_elementwise_kernel",
    ),
]


@pytest.mark.parametrize(("by_torch", "by_ncu", "function"), BY_BOTH)
def test_a_mangled_name_is_still_the_functions(by_torch, by_ncu, function):
    """What stands before the first bracket, whether brackets behind it close or not."""
    assert base(by_torch) == base(by_ncu) == function
    assert base(readable(by_ncu)) == function  # as a run keeps it


def test_every_kernel_of_a_program_is_called_the_same_by_all():
    """72 launches of common operators on an H200, in order: as torch 2.11 names them, as ncu 2025.3
    does when it is asked for whole names, and as it shortens them."""
    recorded = json.loads(
        gzip.decompress((Path(__file__).parent / "replayed_names.json.gz").read_bytes())
    )
    launches = list(zip(recorded["torch"], recorded["whole"], recorded["short"], strict=True))

    assert len(launches) == 72
    for names in launches:
        assert len({base(name) for name in names}) == 1, names


@pytest.mark.parametrize(
    ("name", "function"),
    [
        (
            "at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<f>>",
            "elementwise_kernel",
        ),
        (
            "elementwise_kernel<128, 2, void gpu_kernel_impl<f>(int)::[lambda(int)]>",
            "elementwise_kernel",
        ),
        ("at::<unnamed>::softmax<float, 0>", "softmax"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, 4>(float *)", "kernel"),
        ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm>(P)", "Kernel2"),
        ("<lambda>", "<lambda>"),
    ],
)
def test_a_function_is_called_the_same_by_both(name, function):
    assert base(name) == function


def test_a_database_of_nsight_systems_is_a_timeline_too(tmp_path):
    """Two gemms of 20 blocks of 128 threads, 10 us each; the page has one of 12 us and another kernel."""
    timeline = databases.write(
        tmp_path / "report.sqlite",
        kernels=[databases.kernel(0, 10_000, 1), databases.kernel(20_000, 30_000, 2)],
        runtime=[databases.launch(0, 100, 1), databases.launch(200, 300, 2)],
    )
    page = tmp_path / "page.csv"
    page.write_text(
        exports.raw(
            {"gpu__time_duration.sum": "ns", "dram__bytes_read.sum": "byte"},
            (exports.launch(0, "gemm<float>(T1 *)", grid="(10, 2, 1)", block="(128, 1, 1)"),
             {"gpu__time_duration.sum": "12,000", "dram__bytes_read.sum": "4,096"}),
            (exports.launch(1, "other", grid="(10, 2, 1)", block="(128, 1, 1)"),
             {"gpu__time_duration.sum": "12,000", "dram__bytes_read.sum": "4,096"}),
        )
    )  # fmt: skip
    run = load([timeline, page])
    rows = run.rows()
    (replay,) = (row for row in rows if row["kind"] == "replay")

    assert (rows[replay["parent"]]["kind"], replay["duration_ns"]) == ("kernel", 12_000)
    assert replay["counters"]["dram__bytes_read.sum"] == 4096
    assert run.gaps[-1].name == "other"


def test_one_command_makes_the_run_and_another_shows_it_again(tmp_path, capsys):
    files = [str(TRACES / "ln_hand.json.gz"), str(PAGES / "ln_hand.raw.csv.gz")]
    out = str(tmp_path / "both.roof")
    assert main(["import", *files, "--ncu-cache", "flush", "--ncu-clock", "none", "-o", out]) == 0
    imported = capsys.readouterr()
    assert main(["show", out]) == 0
    shown = capsys.readouterr()

    assert "counters of one call by Nsight Compute: caches flushed, clocks free" in imported.out
    assert shown.out == imported.out
    assert "columns that nothing here uses" in imported.out  # what the page lacks is said too
