"""Which operator a kernel belongs to, and what is counted."""

import pytest

from roofline.device import resource
from roofline.importers import load
from roofline.program import read
from tests.importers.kineto.traces import Trace, matmul


def imported(trace: Trace, tmp_path, name="trace.json", **how):
    return load([trace.write(tmp_path / name, **how)])


def by_name(run) -> dict[str, tuple[int, float | None]]:
    """Calls and microseconds of every line."""
    return {
        item.name: (
            item.calls,
            None if item.measured_s is None else round(item.measured_s * 1e6, 3),
        )
        for item in read(run).by("operator")
    }


def test_external_id_equal_to_the_correlation_id(tmp_path):
    """The ids say that the kernel of mm belongs to relu: nesting knows better."""
    trace = Trace()
    trace.op("aten::mm", 0, 10, ((4, 4), "fp32"), ((4, 4), "fp32"), args={"External id": 1})
    trace.op("aten::relu", 20, 10, ((4, 4), "fp32"), args={"External id": 2})
    trace.kernel("gemm", 30, 7, launch=2, correlation=2, **{"External id": 2})
    trace.kernel("relu", 40, 3, launch=22, correlation=1, **{"External id": 1})

    assert by_name(imported(trace, tmp_path)) == {"aten::mm": (1, 7.0), "aten::relu": (1, 3.0)}


def test_nested_operators_are_counted_once(tmp_path):
    """linear is composed of t and addmm; addmm calls others, whose kernels are its own."""
    trace = Trace()
    trace.op("aten::linear", 0, 50, ((8, 16), "fp32"), ((4, 16), "fp32"), ((4,), "fp32"))
    trace.op("aten::t", 1, 4, ((4, 16), "fp32"))
    trace.op("aten::transpose", 2, 2, ((4, 16), "fp32"), "0", "1")
    trace.op("aten::addmm", 10, 30, ((4,), "fp32"), ((8, 16), "fp32"), ((16, 4), "fp32"), "1", "1")
    trace.op("aten::copy_", 12, 5, ((8, 4), "fp32"), ((8, 4), "fp32"))
    trace.kernel("copy", 60, 2, launch=13)
    trace.kernel("gemm", 65, 11, launch=30)
    run = imported(trace, tmp_path)

    assert by_name(run) == {"aten::t": (1, 0.0), "aten::addmm": (1, 13.0)}


def test_an_operator_that_only_calls_one_of_its_name_is_looked_through(tmp_path):
    """std(x) calls std(x, dim, correction); max(a, b) calls maximum(a, b)."""
    trace = Trace(deviceProperties=[])
    trace.op("aten::std", 0, 20, ((8, 4), "fp32"), "True")
    trace.op("aten::std", 1, 18, ((8, 4), "fp32"), "", "1", "False")
    trace.op("aten::max", 30, 20, ((8, 4), "fp32"), ((8, 4), "fp32"))
    trace.op("aten::maximum", 31, 15, ((8, 4), "fp32"), ((8, 4), "fp32"))

    assert by_name(imported(trace, tmp_path)) == {
        "aten::std": (1, 18.0),
        "aten::maximum": (1, 15.0),
    }


def test_an_operator_that_started_something_is_counted_whatever_it_calls(tmp_path):
    """std launches a kernel of its own and then calls std: both kernels are its."""
    trace = Trace()
    trace.op("aten::std", 0, 20, ((8, 4), "fp32"), "True")
    trace.kernel("first", 50, 3, launch=1)
    trace.op("aten::std", 5, 10, ((8, 4), "fp32"), "", "1", "False")
    trace.kernel("second", 60, 4, launch=6)
    trace.op("aten::randn", 100, 20, "[8]")
    trace.add("cuda_runtime", "cudaGetDevice", 101, 1, args={"correlation": 5})
    trace.op("aten::randn", 103, 10, "[8]", "")
    trace.kernel("normal", 160, 2, launch=104)

    assert by_name(imported(trace, tmp_path)) == {"aten::std": (1, 7.0), "aten::randn": (1, 2.0)}


def test_backward_is_looked_through_and_forward_is_what_it_answers(tmp_path):
    trace = Trace()
    numbered = {"Sequence number": 7, "Fwd thread id": 0}
    answer = {"Sequence number": 7, "Fwd thread id": 1}
    trace.op("aten::relu", 0, 10, ((4, 4), "fp32"), args=numbered)
    trace.op("aten::abs", 12, 5, ((4, 4), "fp32"), args={"Sequence number": 8, "Fwd thread id": 0})
    trace.op("autograd::engine::evaluate_function: ReluBackward0", 0, 40, tid=2, args=answer)
    trace.op("ReluBackward0", 1, 30, ((4, 4), "fp32"), tid=2, args=answer)
    trace.op("aten::threshold_backward", 2, 20, ((4, 4), "fp32"), ((4, 4), "fp32"), "0", tid=2)
    trace.add("user_annotation", "Optimizer.step#SGD.step", 50, 20)
    trace.op("aten::add_", 51, 5, ((4, 4), "fp32"), ((4, 4), "fp32"), "-0.01")
    run = imported(trace, tmp_path)
    phases = {run.signatures[row["signature"]].name: row["phase"] for row in run.rows()}

    assert phases == {
        "aten::relu": "forward", "aten::abs": "other",
        "aten::threshold_backward": "backward", "aten::add_": "optimizer",
    }  # fmt: skip


def test_modules_nest_and_backward_has_the_module_of_its_forward(tmp_path):
    trace = Trace()
    trace.add("python_function", "nn.Module: Net_0", 0, 100)
    trace.add("python_function", "net.py(3): forward", 1, 98)
    trace.add("python_function", "nn.Module: Linear_3", 10, 50)
    numbered = {"Sequence number": 3, "Fwd thread id": 0}
    trace.op("aten::mm", 12, 20, ((4, 4), "fp32"), ((4, 4), "fp32"), args=numbered)
    trace.op("MmBackward0", 200, 30, args={"Sequence number": 3, "Fwd thread id": 1}, tid=2)
    trace.op("aten::mm", 201, 20, ((4, 4), "fp32"), ((4, 4), "fp32"), tid=2)
    run = imported(trace, tmp_path)

    assert [(row["phase"], row["module"]) for row in run.rows()] == [
        ("forward", "Net_0.Linear_3"), ("backward", "Net_0.Linear_3"),
    ]  # fmt: skip
    assert [gap.what for gap in run.gaps] == ["1 of Python frames"]


def test_a_kernel_that_a_wrapper_starts_itself_is_the_wrapper_s(tmp_path):
    """A custom autograd function launches its own kernel beside an operator's."""
    trace = Trace()
    trace.op("FlashAttnFunc", 0, 50, ((4, 4), "fp32"))
    trace.op("aten::relu", 5, 10, ((4, 4), "fp32"))
    trace.kernel("relu", 60, 2, launch=6)
    trace.kernel("flash_fwd", 70, 9, launch=30)

    assert by_name(imported(trace, tmp_path)) == {
        "FlashAttnFunc": (1, 9.0), "aten::relu": (1, 2.0),
    }  # fmt: skip


def test_a_kernel_outside_every_operator_stands_for_itself(tmp_path):
    trace = Trace()
    matmul(trace, 0)
    trace.kernel("void mine<int>(int*)", 300, 4, launch=200)

    run = imported(trace, tmp_path)
    assert by_name(run) == {"aten::mm": (1, 100.0), "mine<int>": (1, 4.0)}
    assert read(run).whole.coverage == pytest.approx(100 / 104)


def test_what_an_operator_did_on_the_host_is_no_work_of_the_device(tmp_path):
    """add_ on a tensor of the CPU: no kernel, and no view."""
    trace = Trace()
    matmul(trace, 0)
    trace.op("aten::add_", 50, 5, ((), "fp32"), ((), "int64"), "1")
    trace.op("aten::t", 60, 5, ((4, 16), "fp32"))
    run = imported(trace, tmp_path)

    assert by_name(run) == {"aten::mm": (1, 100.0), "aten::t": (1, 0.0)}
    assert [row["kind"] for row in run.rows()] == ["op", "range", "op", "kernel", "launch"]


def test_copies_over_the_link_stand_for_themselves_and_others_are_their_operator_s(tmp_path):
    """1,000,000 B from the host cross PCIe and DRAM; on the device they are read and written."""
    trace = Trace()
    trace.op("aten::copy_", 0, 10, ((250_000,), "fp32"), ((250_000,), "fp32"), "False")
    trace.kernel("Memcpy HtoD (Pageable -> Device)", 5, 40, launch=1, cat="gpu_memcpy",
                 by="cudaMemcpyAsync", bytes=1_000_000)  # fmt: skip
    trace.op("aten::copy_", 100, 10, ((250_000,), "fp32"), ((250_000,), "fp32"), "False")
    trace.kernel("Memcpy DtoD (Device -> Device)", 105, 3, launch=101, cat="gpu_memcpy",
                 by="cudaMemcpyAsync", bytes=1_000_000)  # fmt: skip
    run = imported(trace, tmp_path)
    lines = {item.name: item for item in read(run).by("operator")}

    assert {name: item.ledger.demand() for name, item in lines.items()} == {
        "Memcpy HtoD (Pageable -> Device)": {
            resource("pcie"): 1_000_000,
            resource("dram"): 1_000_000,
        },
        "aten::copy_": {resource("dram"): 2_000_000},
    }
    assert lines["aten::copy_"].measured_s == pytest.approx(3e-6)


def test_bytes_of_a_copy_that_only_its_launch_knows(tmp_path):
    """HIP writes them as text beside the call."""
    trace = Trace()
    trace.op("aten::copy_", 0, 10, ((640,), "fp32"), ((640,), "fp32"), "False")
    trace.add("cuda_runtime", "hipMemcpyWithStream", 1, 5, args={"correlation": 5, "size": "2560"})
    trace.kernel("Memcpy HtoD (Host -> Device)", 5, 40, cat="gpu_memcpy", correlation=5)
    (line,) = read(imported(trace, tmp_path)).by("operator")

    assert line.ledger.demand() == {resource("pcie"): 2560, resource("dram"): 2560}


def test_fp32_products_on_the_tensor_pipes_are_told_by_their_kernels(tmp_path):
    trace = Trace()
    for at, kernel in enumerate(("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128",
                                 "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma")):  # fmt: skip
        trace.op("aten::mm", 50 * at, 5.0, ((64, 32), "fp32"), ((32, 16), "fp32"))
        trace.kernel(kernel, 50 * at + 10, 20, launch=50 * at + 1)
    demand = [item.ledger.demand() for item in read(imported(trace, tmp_path)).by("call")]

    assert sorted([r.name for r in each if r.is_pipe] for each in demand) == [
        ["tensor-tf32"], ["vector-fp32"],
    ]  # fmt: skip


def test_a_compiled_kernel_has_its_bytes_as_a_range_and_no_arithmetic(tmp_path):
    """Two tensors of 4096 B each, one of them the output: 8,192 B, 16,384 B were both updated."""
    trace = Trace()
    build = {"kernel_backend": "triton", "num_warps": 4, "kernel_kwargs": "XBLOCK=128",
             "kernel_file": "/home/somebody/cache/x.py"}  # fmt: skip
    trace.op(
        "triton_poi_fused_add_0", 0, 10, ((32, 32), "fp32"), ((32, 32), "fp32"), "1024", args=build
    )
    trace.kernel("triton_poi_fused_add_0", 20, 3, launch=2, grid=[8, 1, 1], block=[128, 1, 1])
    run = imported(trace, tmp_path)
    (line,) = read(run).by("call")
    (entry,) = line.ledger.entries

    assert (entry.amount, entry.low, entry.high) == (8192, 8192, 16384)
    assert line.ledger.unaccounted == ("arithmetic of triton_poi_fused_add_0",)
    assert line.shapes == "32x32 fp32, 32x32 fp32"
    assert run.signatures[0].call.args[-1] == "triton warps=4 constants=XBLOCK=128"
    assert dict(run.rows()[1]["counters"]) == {"grid": 8.0, "block": 128.0}


def test_threads_that_are_numbered_otherwise_are_joined_by_external_id(tmp_path):
    """Launches on thread 99, operators on thread 1: addmm inside linear has id 2."""
    trace = Trace()
    trace.op("aten::linear", 0, 50, ((8, 16), "fp32"), ((4, 16), "fp32"), ((4,), "fp32"))
    trace.op("aten::addmm", 10, 30, ((4,), "fp32"), ((8, 16), "fp32"), ((16, 4), "fp32"), "1", "1")
    launch = {"External id": 2, "correlation": 77}
    trace.add("cuda_runtime", "cudaLaunchKernel", 12, 3, tid=99, args=launch)
    trace.kernel("gemm", 65, 11, correlation=77)
    run = imported(trace, tmp_path)

    assert by_name(run) == {"aten::addmm": (1, 11.0)}
    assert "joined by their External id" in run.recorder.warnings[0]


def two_processes(kernel_pids=(0, 0), externals=(None, None), starts=(20, 620)):
    """mm in process 1 and relu in process 2, launched with the same correlation id, 5."""
    trace = Trace()
    trace.op("aten::mm", 0, 10, ((4, 4), "fp32"), ((4, 4), "fp32"))
    trace.op("aten::relu", 600, 10, ((4, 4), "fp32"), pid=2)
    for at, pid in ((2, 1), (602, 2)):
        external = externals[pid - 1]
        said = {} if external is None else {"External id": external}
        trace.add("cuda_runtime", "cudaLaunchKernel", at, 1, pid=pid,
                  args={"correlation": 5, **said})  # fmt: skip
    for name, pid, at, us, external in zip(
        ("gemm", "relu"), kernel_pids, starts, (7, 3), externals, strict=True
    ):
        said = {} if external is None else {"External id": external}
        held = {"device": 0, "stream": 7, "correlation": 5, **said}
        trace.add("kernel", name, at, us, pid=pid, tid=7, args=held)
    return trace


@pytest.mark.parametrize(
    "how",
    [
        {"kernel_pids": (1, 2)},  # the kernels bear the process
        {"externals": (11, 12)},  # or the launch's own External id
    ],
)
def test_equal_correlation_ids_of_two_processes(tmp_path, how):
    """Each kernel belongs to the operator of its own process: 7 us of mm and 3 of relu."""
    run = imported(two_processes(**how), tmp_path)

    assert by_name(run) == {"aten::mm": (1, 7.0), "aten::relu": (1, 3.0)}


def test_a_kernel_that_may_be_of_either_process_is_of_none(tmp_path):
    """The first ran before the other launch began; the second may be anybody's, 3 us in doubt."""
    run = imported(two_processes(), tmp_path)

    assert by_name(run)["aten::mm"] == (1, 7.0)
    assert read(run).whole.coverage == pytest.approx(0.7)
    assert any("launches of several processes of the file" in w for w in run.recorder.warnings)
    assert [(g.name, g.count) for g in run.gaps] == [("activities without a launch", 1)]


def test_autograd_numbers_of_two_processes(tmp_path):
    """Process 2 answers its own number 3, so that mm of process 1 with that number is no forward."""
    trace = Trace()
    trace.op("aten::mm", 0, 10, ((4, 4), "fp32"), ((4, 4), "fp32"), args={"Sequence number": 3})
    trace.op("aten::relu", 0, 10, ((4, 4), "fp32"), pid=2, args={"Sequence number": 3})
    trace.op("autograd::engine::evaluate_function: ReluBackward0", 30, 10, pid=2,
             args={"Sequence number": 3})  # fmt: skip
    trace.op("aten::threshold_backward", 31, 5, ((4, 4), "fp32"), ((4, 4), "fp32"), "0", pid=2)
    phases = {item.name: item.phase for item in read(imported(trace, tmp_path)).by("call")}

    assert (phases["aten::mm"], phases["aten::relu"]) == ("other", "forward")


@pytest.mark.parametrize(
    ("kernel", "pipe"),
    [
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn", "tensor-bf16"),
        ("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32", "tensor-bf16"),
        ("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8", "tensor-bf16"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", "tensor-fp16"),
        ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "tensor-fp16"),
        ("sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize64x128x64", "tensor-fp16"),
        ("ampere_h16816gemm_128x64_ldg8_stages_64x3_nn", "tensor-fp16"),
        ("ampere_sgemm_128x64_nn", "vector-fp32"),
        ("void gemm_bf16x9_emulated<float>", "vector-fp32"),
        ("void at::native::cast_kernel<bf16>", "vector-fp32"),
    ],
)
def test_a_product_of_fp32_is_placed_on_the_pipe_its_kernel_names(tmp_path, kernel, pipe):
    """And the trace contradicting itself is said."""
    trace = Trace()
    trace.op("aten::mm", 0, 5, ((64, 32), "fp32"), ((32, 16), "fp32"))
    trace.kernel(kernel, 10, 7, launch=1)
    run = imported(trace, tmp_path)
    (item,) = read(run).by("call")

    assert item.ledger.demand()[resource(pipe)] == 2 * 64 * 32 * 16
    assert any("by their names multiply" in w for w in run.recorder.warnings) == (
        pipe != "vector-fp32"
    )


def test_a_product_of_bf16_is_the_same_call_whatever_its_kernel_is_called(tmp_path):
    trace = Trace()
    for at, kernel in enumerate(("ampere_bf16_s16816gemm_bf16_128x64", "nvjet_tst_128x64")):
        trace.op("aten::mm", 100 * at, 5, ((64, 32), "bf16"), ((32, 16), "bf16"))
        trace.kernel(kernel, 100 * at + 10, 7, launch=100 * at + 1)
    (item,) = read(imported(trace, tmp_path)).by("call")

    assert (item.calls, item.ledger.demand()[resource("tensor-bf16")]) == (2, 2 * 65536)


def reduced(tmp_path, **about):
    """The ledger of an all-reduce of 4 MB."""
    trace = Trace(**about)
    blank = ["", "", "", ""]
    trace.op("c10d::allreduce_", 0, 20, args={
        "Concrete Inputs": [*blank, "True", "-1"],
        "Input type": ["TensorList", *blank[1:], "Scalar", "Scalar"],
        "Input Dims": [[[1_000_000]], [], [], [], [], []],
        "Input Strides": [[[1]], [], [], [], [], []],
    })  # fmt: skip
    trace.op("aten::relu", 30, 5, ((1_000_000,), "fp32"))
    trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, 20, launch=5)
    run = imported(trace, tmp_path)
    (ledger,) = (s.ledger for s in run.signatures if s.name == "c10d::allreduce_")
    (entry,) = ledger.entries
    return entry


def test_a_collective_is_among_as_many_as_the_groups_of_the_trace(tmp_path):
    """Of 4 MB two ranks send 4 MB, four 6 MB; groups of several sizes, or none told: at most 8 MB."""

    def groups(*sizes):
        return {"distributedInfo": {"pg_config": [{"pg_size": size} for size in sizes]}}

    assert reduced(tmp_path, **groups(2)).amount == 4_000_000
    assert reduced(tmp_path, **groups(4, 4)).amount == 6_000_000
    for about in (groups(2, 4), {"distributedInfo": {"world_size": 2}}, {"distributedInfo": 3}):
        entry = reduced(tmp_path, **about)
        assert (entry.low, entry.high) == (0, 8_000_000)


@pytest.mark.parametrize(
    "wrapper",
    ["torch::distributed::reducer::mul_out", "torch.distributed.ddp.reducer::copy_bucket_to_grad"],
)
def test_what_a_reducer_says_stands_around_an_operator(tmp_path, wrapper):
    trace = Trace()
    trace.op(wrapper, 0, 20, ((8, 4), "fp32"))
    trace.op("aten::mul", 1, 15, ((8, 4), "fp32"), ((8, 4), "fp32"))
    trace.kernel("mul", 40, 3, launch=5)

    assert by_name(imported(trace, tmp_path)) == {"aten::mul": (1, 3.0)}
