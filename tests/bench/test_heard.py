"""Which code ran, from what oneDNN and MKL write about themselves."""

import pytest

from roofline.bench.cpu.heard import told

MKL = "Intel(R) Architecture processors"
EXEC = "onednn_verbose,v1,primitive,exec,cpu"


@pytest.mark.parametrize(
    ("text", "processors", "named"),
    [
        (f"{EXEC},matmul,brg_matmul:avx512_core_bf16,undef,src:bf16", MKL,
         "AVX-512 by oneDNN brg_matmul:avx512_core_bf16"),
        (f"{EXEC},matmul,brg_matmul:avx10_1_512_amx,undef", "",
         "AMX by oneDNN brg_matmul:avx10_1_512_amx"),
        (f"{EXEC},matmul,brg_matmul:avx2_vnni,undef", "", "AVX2 by oneDNN brg_matmul:avx2_vnni"),
        (f"{EXEC},gemm_api,,undef,src_s8", "", "not told by oneDNN gemm_api"),
        # Older versions leave out the version and "primitive".
        ("onednn_verbose,exec,cpu,matmul,jit:avx2,undef", "", "AVX2 by oneDNN jit:avx2"),
        ("MKL_VERBOSE SGEMM(N,N,256,256) 508.04us CNR:OFF", MKL, f"not told by MKL SGEMM for {MKL}"),
        ("MKL_VERBOSE DGEMM(N,N,8,8) 1us", "Intel(R) AVX-512", "AVX-512 by MKL DGEMM for Intel(R) AVX-512"),
        # Such a processor multiplies fp32 with AVX-512: AMX has no fp32.
        ("MKL_VERBOSE SGEMM(N,N,8,8) 1us", "Intel(R) AMX", "AVX-512 by MKL SGEMM for Intel(R) AMX"),
        ("", MKL, "not told by torch"),
        ("onednn_verbose,v1,info,cpu,isa:Intel AVX-512\nsomething else", MKL, "not told by torch"),
    ],
)  # fmt: skip
def test_what_libraries_write(text, processors, named):
    assert told(text, processors) == named


@pytest.mark.parametrize(
    ("features", "named"),
    [("avx512f avx512_fp16 amx_tile", "AVX-512 FP16"), ("avx512_fp16 avx10_1", "AVX10")],
)
def test_avx10_is_named_only_where_the_cpu_says_that_it_has_it(features, named):
    """oneDNN's avx10_1_512 is its newer name of AVX-512 with FP16."""
    text = f"{EXEC},matmul,brg_matmul:avx10_1_512,undef,src:f16"
    assert told(text, "", features) == f"{named} by oneDNN brg_matmul:avx10_1_512"


def test_of_several_calls_the_last_is_the_product():
    text = f"{EXEC},reorder,jit:uni,undef\n{EXEC},inner_product,brg_matmul:avx512_core,forward"
    assert told(text, "") == "AVX-512 by oneDNN brg_matmul:avx512_core"


def test_it_hears_this_machine_and_gives_the_output_back(capfd):
    torch = pytest.importorskip("torch")
    from roofline.bench.cpu.heard import implementation

    print("before", flush=True)
    a = torch.randn(64, 64)
    named = implementation(lambda: torch.mm(a, a))
    print("after", flush=True)
    assert capfd.readouterr().out == "before\nafter\n"
    if torch.backends.mkl.is_available():
        assert "MKL SGEMM" in named or "oneDNN" in named
