"""AMD's profilers: tables and documents written by hand in the form of their output."""

import copy
import csv
import gzip
import io
import json

import pytest

from roofline import counters
from roofline.device import DRAM, L2, SHARED, TENSOR_BF16, VECTOR_FP32, VECTOR_FP64
from roofline.errors import BadInput
from roofline.importers import Options, load
from roofline.program import read

TRACE = """"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 7",17,26,847809,1,49,"void add<float>(float*, float const*, int)",101,1551401624448706,1551401624459226,0,0,8,0,16,64,1,1,1024,1024,1
"KERNEL_DISPATCH","Agent 7",17,26,847809,2,49,"void add<float>(float*, float const*, int)",102,1551401624468706,1551401624478706,0,0,8,0,16,64,1,1,1024,1024,1
"""
COUNTED = """"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
1,1,"Agent 1",2,9,9,262144,5,"add",256,0,0,12,4,32,"FETCH_SIZE",1024.000000,1000,3000
1,1,"Agent 1",2,9,9,262144,5,"add",256,0,0,12,4,32,"WRITE_SIZE",512.000000,1000,3000
1,1,"Agent 1",2,9,9,262144,5,"add",256,0,0,12,4,32,"OccupancyPercent",13.27,1000,3000
"""
OLD = """Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,SQ_INSTS_VALU_FMA_F32,SQ_WAVES,DispatchNs,BeginNs,EndNs,CompleteNs
0,"gemm(float*, int) [clone .kd]",0,0,0,136,136,16384,256,512,0,40,4,48,64,0x7fa,0x7fb,4096,256,100,2000,7000,8000
"""
STATS = """"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"
"gemm_fp64_kernel(double*, double*, int)",24,24000,1000.0,90.0,900,1100,12.1
"zero_kernel(double*, int)",6,3000,500.0,10.0,480,544,12.1
"""


def imported(folder, *texts, **options):
    """Import tables from files whose names say nothing."""
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"file{number}")
        paths[-1].write_text(text)
    return load(paths, Options(**options))


def test_kernel_trace(tmp_path):
    """Two dispatches, 10,520 and 10,000 ns, the second 20,000 ns after the first; 16384 groups of 64."""
    run = imported(tmp_path, TRACE)
    first, second = run.rows()

    assert [s.name for s in run.signatures] == ["add<float>"]
    assert [(r["start_ns"], r["duration_ns"]) for r in (first, second)] == [
        (0, 10_520),
        (20_000, 10_000),
    ]
    assert first["counters"] == {
        "grid": 1024 * 1024 / 64, "block": 64, "registers per thread": 8, "shared memory": 0,
    }  # fmt: skip
    assert (run.steps[0].duration_ns, first["stream"]) == (30_000, 26)
    assert any("do not name the GPU" in text for text in run.recorder.warnings)
    assert run.recorder.cache == "warm"


def test_counters_by_row(tmp_path):
    """1024 + 512 KiB in 2 us; caches unknown, since kernels ran one at a time."""
    run = imported(tmp_path, COUNTED, device="mi300x")
    (row,) = run.rows()
    (item,) = read(run).by("call")

    assert row["duration_ns"] == 2000
    assert item.placement.demand[DRAM] == (1024 + 512) * 1024
    assert read(run).facts[0]["occupancy_achieved"].value == 13.27
    assert run.recorder.cache == "unknown"


def test_counters_by_column(tmp_path):
    """4,096 wave FMA of 64 lanes and 2 flop: 524,288; the rest of the arithmetic was not counted."""
    (row,) = imported(tmp_path, OLD).rows()
    ledger = counters.executed(row["counters"])

    assert row["duration_ns"] == 5000
    assert ledger.demand() == {VECTOR_FP32: 4096 * 64 * 2}
    assert "SQ_INSTS_VALU_ADD_F32: not collected" in ledger.unaccounted
    assert "wave_size" not in row["counters"]


def test_statistics_of_kernels(tmp_path):
    """24 launches of 1000 ns and 6 of 500 ns: averages."""
    run = imported(tmp_path, STATS)

    assert sorted(r["duration_ns"] for r in run.rows()) == [500] * 6 + [1000] * 24
    assert run.steps[0].duration_ns == 0
    assert any("average duration" in text for text in run.recorder.warnings)


def test_passes_of_one_recording_are_joined(tmp_path):
    """The same dispatch in two files: one launch with both counters."""
    other = (
        COUNTED.splitlines()[0] + "\n" + COUNTED.splitlines()[1].replace("FETCH_SIZE", "L2CacheHit")
    )
    run = imported(tmp_path, COUNTED, other + "\n")

    assert len(run.rows()) == 1
    assert {"FETCH_SIZE", "L2CacheHit"} <= set(run.rows()[0]["counters"])


def test_a_counter_of_several_parts_of_the_chip_adds(tmp_path):
    """Rows of one hardware counter are its instances."""
    line = COUNTED.splitlines()[1].replace("FETCH_SIZE", "SQ_INSTS_VALU_ADD_F32")
    run = imported(tmp_path, "\n".join([COUNTED.splitlines()[0], line, line, ""]))

    assert run.rows()[0]["counters"]["SQ_INSTS_VALU_ADD_F32"] == 2048


def test_the_table_of_agents_names_the_device(tmp_path):
    """Beside a trace; host processors do not count."""
    agents = '"Node_Id","Agent_Type","Product_Name"\n0,"CPU","AMD EPYC 9654"\n1,"GPU","AMD Instinct MI300X"\n'

    assert imported(tmp_path, TRACE, agents).device.name == "AMD Instinct MI300X"


def test_two_agents(tmp_path):
    """The busier is the run, the other a gap."""
    other = TRACE.splitlines()[1].replace("Agent 7", "Agent 8").replace(",1,49,", ",3,49,")
    run = imported(tmp_path, TRACE + other + "\n")

    assert len(run.rows()) == 2
    assert [(gap.name, gap.count) for gap in run.gaps] == [("agent Agent 8", 1)]
    assert run.gaps[0].seconds == pytest.approx(10.52e-6)


def test_the_time_of_another_agent_may_be_unknown(tmp_path):
    """It ends before it begins: how long it took nobody knows, which is not 0."""
    other = TRACE.splitlines()[1].replace("Agent 7", "Agent 8").replace(",1,49,", ",3,49,")
    run = imported(tmp_path, TRACE + other.replace("1551401624459226", "1551401624448000") + "\n")
    (gap,) = (gap for gap in run.gaps if gap.name == "agent Agent 8")

    assert (gap.seconds, gap.count) == (None, 1)


def test_dram_bytes_by_request_size():
    """131,080 reads of 64 B, 8 of them of 32; writes of 64 B alone; MI300's reads of 128 B."""
    mi200 = {"TCC_EA_RDREQ_sum": 131_080.0, "TCC_EA_RDREQ_32B_sum": 8.0,
             "TCC_EA_WRREQ_sum": 100.0, "TCC_EA_WRREQ_64B_sum": 90.0}  # fmt: skip
    mi300 = {"TCC_EA0_RDREQ_sum": 100.0, "TCC_EA0_RDREQ_32B_sum": 0.0, "TCC_BUBBLE_sum": 60.0,
             "TCC_EA0_WRREQ_sum": 10.0, "TCC_EA0_WRREQ_64B_sum": 10.0}  # fmt: skip

    assert counters.achieved(mi200).demand() == {DRAM: 131_072 * 64 + 8 * 32 + 90 * 64 + 10 * 32}
    assert counters.achieved(mi300).demand() == {DRAM: 60 * 128 + 40 * 64 + 10 * 64}


def test_channels_add_up():
    """Counters of single channels, in brackets."""
    held = {
        f"TCC_EA_{kind}[{at}]": 10.0 for kind in ("RDREQ", "WRREQ", "WRREQ_64B") for at in range(4)
    }
    held |= {f"TCC_EA_RDREQ_32B[{at}]": 0.0 for at in range(4)}

    assert counters.achieved(held).demand() == {DRAM: 40 * 64 + 40 * 64}


def test_flop_by_type():
    """64 lanes; FMA two; matrix operations in units of 512."""
    names = [
        f"SQ_INSTS_VALU_{op}_{t}"
        for t in ("F16", "F32", "F64")
        for op in ("ADD", "MUL", "FMA", "TRANS")
    ]
    names += [f"SQ_INSTS_VALU_MFMA_MOPS_{t}" for t in ("F16", "BF16", "F32", "F64")]
    held = dict.fromkeys(names, 0.0) | {
        "SQ_INSTS_VALU_ADD_F64": 3.0, "SQ_INSTS_VALU_FMA_F64": 5.0, "SQ_INSTS_VALU_MFMA_MOPS_BF16": 7.0,
    }  # fmt: skip
    ledger = counters.executed(held)

    assert ledger.demand() == {VECTOR_FP64: 64 * (3 + 2 * 5), TENSOR_BF16: 7 * 512}
    assert ledger.unaccounted == ()


def test_l2_and_local_memory():
    """64 B a request of the L1; 128 B a cycle of local memory without conflicts."""
    held = {"TCP_TCC_READ_REQ_sum": 10.0, "TCP_TCC_WRITE_REQ_sum": 5.0,
            "SQ_LDS_IDX_ACTIVE": 100.0, "SQ_LDS_BANK_CONFLICT": 40.0}  # fmt: skip

    assert counters.achieved(held).demand() == {L2: 15 * 64, SHARED: 60 * 128}


DOCUMENT = {
    "rocprofiler-sdk-tool": [
        {
            "metadata": {"pid": 1, "command": ["secret"]},
            "agents": [{"id": {"handle": 3}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"},
                       {"id": {"handle": 1}, "type": 1, "name": "EPYC"}],
            "counters": [{"id": {"handle": 11}, "name": "FETCH_SIZE"}, {"id": {"handle": 12}, "name": "WRITE_SIZE"}],
            "kernel_symbols": [{"kernel_id": 5, "formatted_kernel_name": "add(float*, int)"}],
            "buffer_records": {
                "kernel_dispatch": [
                    {"start_timestamp": 1000, "end_timestamp": 3000,
                     "dispatch_info": {"agent_id": {"handle": 3}, "kernel_id": 5, "dispatch_id": 1,
                                       "group_segment_size": 64, "workgroup_size": {"x": 64, "y": 1, "z": 1},
                                       "grid_size": {"x": 6400, "y": 1, "z": 1}}}
                ],
                "memory_copy": [{"start_timestamp": 100, "end_timestamp": 200, "bytes": 4096,
                                 "src_agent_id": {"handle": 1}, "dst_agent_id": {"handle": 3}}],
            },
            "callback_records": {
                "counter_collection": [
                    {"dispatch_data": {"dispatch_info": {"agent_id": {"handle": 3}, "kernel_id": 5, "dispatch_id": 1}},
                     "records": [{"counter_id": {"handle": 11}, "value": 10.0}, {"counter_id": {"handle": 12}, "value": 2.0}]}
                ]
            },
        }
    ]
}  # fmt: skip


def test_json(tmp_path):
    """A dispatch with its counters, a copy, the device; nothing of the command."""
    run = imported(tmp_path, json.dumps(DOCUMENT))
    copy, kernel = run.rows()

    assert run.device.name == "AMD Instinct MI300X"
    assert (copy["kind"], copy["duration_ns"], kernel["duration_ns"]) == ("memcpy", 100, 2000)
    assert kernel["counters"] == {
        "block": 64,
        "grid": 100,
        "shared memory": 64,
        "FETCH_SIZE": 10,
        "WRITE_SIZE": 2,
    }
    assert run.signatures[copy["signature"]].ledger.demand()[DRAM] == 4096
    assert "secret" not in str(run)


@pytest.mark.parametrize(
    "text",
    ['{"rocprofiler-sdk-tool": [', '{"rocprofiler-sdk-tool": 7}', '{"rocprofiler-sdk-tool": [{"agents": 1, "buffer_records": [3]}]}',
     TRACE.splitlines()[0] + "\n"],
)  # fmt: skip
def test_damage_is_one_sentence(text, tmp_path):
    """Cut off, of other shapes, empty."""
    with pytest.raises(BadInput):
        imported(tmp_path, text)


def test_columns_in_any_order(tmp_path):
    """Statistics with their columns the other way round are the same run."""
    text = io.StringIO()
    csv.writer(text).writerows(row[::-1] for row in csv.reader(STATS.splitlines()))
    turned = tmp_path / "turned.csv"
    turned.write_text(text.getvalue())
    straight = tmp_path / "straight.csv"
    straight.write_text(STATS)

    assert load([turned]).rows() == load([straight]).rows()


@pytest.mark.parametrize("bad", [[], {}, [5], None])
@pytest.mark.parametrize("key", ["kernel_id", "dispatch_id", "agent_id"])
def test_ids_in_json_that_are_none(bad, key, tmp_path):
    """The dispatch stays, with its 2000 ns; counters of another number are not its own."""
    document = copy.deepcopy(DOCUMENT)
    (tool,) = document["rocprofiler-sdk-tool"]
    tool["buffer_records"]["kernel_dispatch"][0]["dispatch_info"][key] = bad
    tool["kernel_symbols"].append({"kernel_id": bad})
    run = imported(tmp_path, json.dumps(document))

    assert 2000 in [row["duration_ns"] for row in run.rows()] or any(
        gap.seconds == 2000e-9 for gap in run.gaps
    )


def test_dispatches_in_json_without_a_number(tmp_path):
    """Two of them are two."""
    document = copy.deepcopy(DOCUMENT)
    (tool,) = document["rocprofiler-sdk-tool"]
    (dispatch,) = tool["buffer_records"]["kernel_dispatch"]
    del dispatch["dispatch_info"]["dispatch_id"]
    tool["buffer_records"]["kernel_dispatch"] = [dispatch, dispatch]
    tool["callback_records"] = {}
    run = imported(tmp_path, json.dumps(document))

    assert [row["duration_ns"] for row in run.rows() if row["kind"] == "kernel"] == [2000, 2000]


def said(run) -> str:
    return "\n".join(run.recorder.warnings)


def test_a_trace_that_is_cut(tmp_path):
    """Within its second row: one dispatch, and it is said."""
    run = imported(tmp_path, TRACE[: TRACE.rindex("1551401624468706")])

    assert [row["duration_ns"] for row in run.rows()] == [10_520]
    assert "the last line of file0 has no end, so it may be cut: left out" in said(run)


def test_a_file_without_a_last_line_end(tmp_path):
    """An editor saved it so, or it is cut in its last number: the row counts, and that is said."""
    run = imported(tmp_path, TRACE.rstrip("\n"))

    assert len(run.rows()) == len(imported(tmp_path, TRACE).rows())
    assert "its last cell may not be whole" in said(run)


def test_a_row_that_is_short(tmp_path):
    """Left out and counted."""
    run = imported(tmp_path, TRACE + '"KERNEL_DISPATCH","Agent 7",17\n')

    assert len(run.rows()) == 2
    assert "1 row cut short and left out" in said(run)


def test_a_packed_trace_that_is_cut(tmp_path):
    """What stands before the cut is read, and it is said."""
    line = TRACE.splitlines(keepends=True)[1]
    rows = "".join(
        line.replace("101,1551401624448706,1551401624459226",
                     f"{n},{1551401624448706 + n * n % 977 + 9000 * n},{1551401624449706 + 9000 * n}")
        .replace("847809,1,", f"847809,{n},")
        for n in range(5000)
    )  # fmt: skip
    data = gzip.compress((TRACE.splitlines(keepends=True)[0] + rows).encode())
    (tmp_path / "trace").write_bytes(data[: len(data) // 2])
    run = load([tmp_path / "trace"])

    assert 500 < len(run.rows()) < 5000
    assert "cut off" in said(run)


def test_json_that_is_cut(tmp_path):
    """Whole dispatches before the cut, with their names and agents; none in part."""
    record = {"start_timestamp": 1000, "end_timestamp": 3000, "dispatch_info": {
        "kernel_id": 4, "agent_id": {"handle": 7}, "dispatch_id": 0, "grid_size": {"x": 64, "y": 1, "z": 1},
        "workgroup_size": {"x": 64, "y": 1, "z": 1}}}  # fmt: skip
    dispatches = [
        record | {"dispatch_info": record["dispatch_info"] | {"dispatch_id": n}} for n in range(3)
    ]
    whole = {"rocprofiler-sdk-tool": [{
        "agents": [{"id": {"handle": 7}, "type": 2, "product_name": "AMD Instinct MI300X"}],
        "kernel_symbols": [{"kernel_id": 4, "formatted_kernel_name": "add"}],
        "buffer_records": {"kernel_dispatch": dispatches},
    }]}  # fmt: skip
    text = json.dumps(whole)
    run = imported(tmp_path, text[: text.rindex("workgroup_size") + 20])

    assert [s.name for s in run.signatures] == ["add"]
    assert [row["duration_ns"] for row in run.rows()] == [2000, 2000]
    assert run.device is not None
    assert "cut off" in said(run)


def test_times_that_cannot_be(tmp_path):
    """A start of 0, and an end that later dispatches contradict."""
    line = TRACE.splitlines(keepends=True)[1]
    more = [
        line.replace("1551401624448706,1551401624459226", times).replace(
            "847809,1,", f"847809,{n},"
        )
        for n, times in [
            (3, "0,5000"),
            (4, "1551401624488706,1561401624488706"),
            (5, "1551401624498706,1551401624499706"),
        ]
    ]
    run = imported(tmp_path, TRACE + "".join(more))

    assert [row["duration_ns"] for row in run.rows()] == [10_520, 10_000, None, 1000]
    assert run.steps[0].duration_ns == 51_000
    assert "left out, without a usable start: 1 dispatch" in said(run)
    assert "1 dispatch would still run after later ones" in said(run)


def test_decimal_commas(tmp_path):
    """1024,5 KiB, not 10245."""
    (row,) = imported(tmp_path, COUNTED.replace("1024.000000", '"1024,5"').replace("512.000000", "512").replace("13.27", "13")).rows()  # fmt: skip

    assert row["counters"]["FETCH_SIZE"] == 1024.5


def test_kernels_without_paths(tmp_path):
    """Unless they are asked for."""
    text = TRACE.replace("void add<float>(float*, float const*, int)", "/home/ann/k/add<float>")

    assert [s.name for s in imported(tmp_path, text).signatures] == ["add<float>"]
    assert "ann" in imported(tmp_path, text, keep_private=True).signatures[0].name


def test_a_number_that_may_be_either_is_named_in_one_line(tmp_path):
    """Also where its cell holds a line end."""
    text = TRACE.replace("1551401624468706", '"\n155140162446,870"')
    with pytest.raises(BadInput) as raised:
        imported(tmp_path, text)

    assert "155140162446,870 can be read with a decimal point or a decimal comma" in str(
        raised.value
    )
    assert "\n" not in str(raised.value)
