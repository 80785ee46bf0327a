"""Plant known faults one at a time in a copy of the tree; every one must turn a test red.

    python tools/plant_faults.py [WORDS OF A FAULT'S NAME ...]

A test suite that stays green with a wrong prefix in it protects nothing.  Run before a release;
`tests/frame/test_plant_faults.py` keeps the faults applicable as the code changes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake somebody could make: `right` becomes `wrong` in `file`; `tests` must see it."""

    name: str
    file: str
    right: str  # stands exactly once in the file
    wrong: str
    tests: tuple[str, ...]


UNITS = ("tests/tables/test_units.py",)
OPS = ("tests/tables",)
MODEL = ("tests/tables/test_model.py", "tests/laws/test_model_laws.py")
RUNS = ("tests/program", "tests/diagnosis")

FAULTS = (
    Fault("G means a million", "roofline/units.py", '"G": 1e9', '"G": 1e6', UNITS),
    Fault("Gi means a thousand million", "roofline/units.py", "2.0**30", "1e9", UNITS),
    Fault("ms where us is written", "roofline/units.py", '"u": 1e-6', '"u": 1e-3', UNITS),
    Fault(
        "nanoseconds taken for microseconds", "roofline/program/item.py",
        "measured_s = None if time_ns is None else time_ns / 1e9", "measured_s = None if time_ns is None else time_ns / 1e6", RUNS,
    ),
    Fault(
        "bias counted twice", "roofline/ops/products/matmul.py",
        "Entry(vector_pipe(bias.dtype), out.numel,", "Entry(vector_pipe(bias.dtype), 2 * out.numel,",
        OPS,
    ),
    Fault(
        "a multiply-add is one flop", "roofline/ops/products/matmul.py",
        "return _product(a, b, c, 2 * c.numel * k, call.math)",
        "return _product(a, b, c, c.numel * k, call.math)", OPS,
    ),
    Fault(
        "elements taken for bytes", "roofline/call.py",
        "int(self.touched * DTYPE_BYTES[self.dtype])", "int(self.touched)", OPS,
    ),
    Fault("half types are four bytes", "roofline/call.py", '"fp16": 2, "bf16": 2', '"fp16": 4, "bf16": 4', OPS),
    Fault(
        "expanded tensors counted in full", "roofline/call.py",
        "size if stride != 0 or size == 0 else 1", "size", ("roofline/call.py",),
    ),
    Fault(
        "reads written, writes read", "roofline/ops/lines.py",
        'return Entry(DRAM, share.amount, why, access)',
        'return Entry(DRAM, share.amount, why, "read" if access == "write" else "write")',
        OPS,
    ),
    Fault(
        "tf32 under the fp32 roof", "roofline/ops/dtype.py",
        '"tf32": {"fp32": TENSOR_TF32},', '"tf32": {},', OPS,
    ),
    Fault(
        "an unknown operator costs nothing", "roofline/ops/__init__.py",
        "return unknown(call.op)", "return Ledger(unknown(call.op).count)", OPS,
    ),
    Fault(
        "the smallest bound binds", "roofline/placement.py",
        "bounds.sort(key=lambda bound: bound.least_s, reverse=True)",
        "bounds.sort(key=lambda bound: bound.least_s)", MODEL,
    ),
    Fault(
        "clipped at the roof", "roofline/placement.py",
        "return self.roof_s / self.measured_s", "return min(1.0, self.roof_s / self.measured_s)",
        MODEL,
    ),
    Fault(
        "an intensity meets another boundary's bandwidth", "roofline/placement.py",
        "if at != memory.resource:", "if False:", MODEL,
    ),
    Fault(
        "two bases make one roof", "roofline/device.py",
        "if len({c.provenance.basis for c in group}) > 1:", "if False:", OPS,
    ),
    Fault(
        "stages that wait are overlapped", "roofline/schedule.py",
        "return max(self.critical_path_s, self.loose_roof_s)", "return self.loose_roof_s",
        ("tests/tables/test_schedule.py",),
    ),
    Fault(
        "what is computed again is useful", "roofline/program/use.py",
        "if part.recomputed and resource.is_pipe:", "if False:", ("tests/program/test_flop.py",),
    ),
    Fault(
        "convolutions follow cuBLAS", "roofline/capture/calls/precision.py",
        'if "conv" in name:', 'if "convolutions" in name:', ("tests/capture/test_precision.py",),
    ),
    Fault(
        "zeros of a sparse matrix are multiplied", "roofline/ops/sparsity/sparse_products.py",
        "2 * held * length,", "2 * s.numel * length,", OPS,
    ),
    Fault(
        "flex_attention's backward computes the scores once", "roofline/ops/attending/attention_executed.py",
        "sizes.each * n * 7 // 2 for", "sizes.each * n * 5 // 2 for", OPS,
    ),
    Fault(
        "a sequence sees its neighbours", "roofline/ops/attending/sdpa.py",
        "lengths = zip(pairwise(of_q), pairwise(of_k), strict=False)",
        "lengths = [((of_q[0], of_q[-1]), (of_k[0], of_k[-1]))]", OPS,
    ),
)  # fmt: skip


def main(words: list[str]) -> int:
    """Plant every fault whose name holds all `words`, and say which tests saw it."""
    chosen = [fault for fault in FAULTS if all(word in fault.name for word in words)]
    unseen = []
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        tests = sorted({path for fault in chosen for path in fault.tests})
        if (healthy := run_tests(tree, tests)) != 0:
            print(f"the tests are red before anything is planted (pytest says {healthy})")
            return 1
        for fault in chosen:
            seen = plant(tree, fault)
            print(f"{'red  ' if seen else 'GREEN'}  {fault.name}  ({fault.file})", flush=True)
            if not seen:
                unseen.append(fault.name)
    print(f"{len(chosen) - len(unseen)} of {len(chosen)} faults turned a test red")
    return 1 if unseen else 0


def copy_tree(tree: Path) -> None:
    """The package, its tests and what they read, without anything built."""
    built = shutil.ignore_patterns("__pycache__", "_build")
    for name in ("roofline", "tests", "docs", "examples"):
        shutil.copytree(ROOT / name, tree / name, ignore=built)
    shutil.copy(ROOT / "pyproject.toml", tree)


def plant(tree: Path, fault: Fault) -> bool:
    """Whether a test turns red with `fault` in the tree, which is then mended again."""
    path = tree / fault.file
    healthy = path.read_text()
    path.write_text(planted(fault, healthy))
    try:
        return run_tests(tree, fault.tests) == 1  # 1 is "tests failed"; 2 and up, "could not run"
    finally:
        path.write_text(healthy)


def planted(fault: Fault, text: str) -> str:
    """`text` with the fault in it; a fault that no longer fits its file is itself a mistake."""
    if (times := text.count(fault.right)) != 1:
        raise LookupError(
            f"{fault.name}: {fault.right!r} stands {times} times in {fault.file}; "
            "write the fault anew for what the code has become"
        )
    return text.replace(fault.right, fault.wrong)


def run_tests(tree: Path, tests: "tuple[str, ...] | list[str]") -> int:
    """Exit code of pytest in `tree`, which imports the copy and not the installed package."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    # A fault and its cure can have one size and one second: cached bytecode would mix them up.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
