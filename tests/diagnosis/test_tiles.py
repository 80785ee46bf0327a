"""RF202 from counters: blocks times tile against the results that were stored."""

import pytest

from roofline.diagnosis import diagnose
from roofline.diagnosis.kernels.tiles import tile_of
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.diagnosis.test_kernels import CARD
from tests.runs import RECORDER

NAME = "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT"
# 128 blocks of 64 x 8 are 65,536 results; 512 sectors of 32 B hold 8,192 of 2 B: one in 8.
ONE_ROW = {
    "launch__grid_size": 128.0,
    "lts__t_sectors_srcunit_tex_op_read.sum": 4456448.0,
    "lts__t_sectors_srcunit_tex_op_write.sum": 512.0,
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum": 1073741824.0,
    "dram__bytes_read.sum": 134217728.0,
    "dram__bytes_write.sum": 0.0,
}


def found(counters, name):
    event = Event(
        signature=0, kind="kernel", step=0, start_ns=0, duration_ns=200_000, counters=counters
    )
    run = Run(
        recorder=RECORDER, device=CARD, signatures=(Signature(name=name),), gaps=(),
        steps=(Step(start_ns=0, duration_ns=200_000),), events=table([event]),
    )  # fmt: skip
    return {finding.code: finding for finding in diagnose(read(run))}


def test_a_row_in_tiles_of_eight_is_padding():
    """2^30 flop on 2^27 B: each byte of a 2-byte weight meets 8 rows."""
    finding = found(ONE_ROW, NAME)["RF202"]

    assert "computes 8 times the results that it stores" in finding.claim
    assert finding.evidence[:2] == (
        "128 blocks of 64 x 8 results are 65536; 8192 of 2 B were stored",
        "1.07 Gflop on tensor-bf16 a launch, 8.0 for each byte read from dram",
    )
    assert finding.saves_s == 0.0  # memory binds it: the padding costs nothing


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"lts__t_sectors_srcunit_tex_op_write.sum": 2048.0}, NAME),  # 4 rows: 2 times
        ({}, NAME.replace("64x8_", "64x8_splitK_")),
        ({}, "flash_fwd_kernel_64x8_64x16_"),
        ({"sm__ops_path_tensor_src_bf16_dst_fp32.sum": 0.0}, NAME),
    ],
    ids=["half full", "the inner size is split", "no product", "not on tensor cores"],
)
def test_it_is_not_said_of(changes, name):
    assert "RF202" not in found(ONE_ROW | changes, name)


@pytest.mark.parametrize(
    ("name", "tile"),
    [
        ("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_NNT", (64, 64)),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", (128, 64)),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1", (256, 128)),
        ("cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_bf16_bf16_128x256x64_2x1x1", (128, 256)),
        ("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8", (64, 64)),
        ("gemv2T_kernel_val", None),
        ("cublasLt::splitKreduce_kernel", None),
    ],
)  # fmt: skip
def test_tiles_are_read_from_the_names_that_libraries_give(name, tile):
    assert tile_of(name) == tile
