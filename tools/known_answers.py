"""Formulas held against the counters of a GPU: `benchmarks/known_answers.py` under Nsight Compute.

python tools/known_answers.py arguments                        options of ncu, on one line
python tools/known_answers.py cut SET known.csv known.machine.json cut down, as test data
python tools/known_answers.py table [-o docs/known-answers.md] the table, from the test data
"""

import argparse
import gzip
import importlib.util
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline import accounting, counters, importers
from roofline.accounting.interpreted import Interpreted, count_triton
from roofline.counters import needed
from roofline.device import (
    DRAM,
    L2,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_FP16_SPARSE,
    Resource,
)
from roofline.importers.ncu.collect import Wanted, arguments
from roofline.units import show, show_binary
from roofline.work import Ledger

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "account" / "known_answers"
KERNELS = ROOT / "tests" / "account" / "triton_kernels.py"
PROGRAMS = 4  # of a Triton kernel, run in the interpreter
MACHINE = DATA / "h200.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One case: what the formula says and what the counters saw, launches together."""

    name: str
    kernels: tuple[str, ...]
    algorithmic: Ledger
    by_rule: dict[Resource, int]  # what the rules say that hardware runs
    executed: dict[Resource, int]  # counters; flop by pipe
    read: int  # counters; B from dram
    written: int
    requested: int  # counters; B that the SMs asked the L2 for
    streams: bool
    padded: bool

    @property
    def pipe(self) -> Resource | None:
        """The pipe that most of its arithmetic is for, where counters know it."""
        pipes = {r: n for r, n in self.algorithmic.demand().items() if r.is_pipe and n}
        return max(pipes, key=pipes.__getitem__, default=None)


def cases() -> Any:
    """The benchmark as a module."""
    return _module("known_answers_cases", ROOT / "benchmarks" / "known_answers.py")


def _module(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def export(name: str) -> Path:
    """What Nsight Compute wrote of a set of cases, cut down."""
    return DATA / f"h200-{name}.csv.gz"


def answers(kernels: bool = True) -> list[Answer]:
    """Every case that was profiled, in order; without Triton `kernels` must be left out."""
    seen: dict[str, list[tuple[str, dict[str, float]]]] = {}
    for run in (importers.load([export(name)]) for name in cases().SETS):
        for row in run.rows():
            launch = run.signatures[row["signature"]].name, row["counters"]
            seen.setdefault(row["module"], []).append(launch)
    wanted = [case for case in cases().CASES if kernels or not case.kernel]
    return [_answer(case, seen[case.name]) for case in wanted if case.name in seen]


def _answer(case: Any, launches: list[tuple[str, dict[str, float]]]) -> Answer:
    algorithmic, by_rule = _counted(case)
    executed: dict[Resource, int] = {}
    read = written = requested = 0
    for _, values in launches:
        ran, moved = counters.executed(values), counters.achieved(values)
        assert ran is not None
        assert moved is not None
        for resource, amount in ran.demand().items():
            executed[resource] = executed.get(resource, 0) + amount
        read += moved.traffic(DRAM, "read")
        written += moved.traffic(DRAM, "write")
        requested += moved.traffic(L2, "read") + moved.traffic(L2, "write")
    return Answer(
        name=case.name,
        kernels=tuple(name for name, _ in launches),
        algorithmic=algorithmic,
        by_rule=by_rule.demand(),
        executed=executed,
        read=read,
        written=written,
        requested=requested,
        streams=case.streams,
        padded=case.padded,
    )


def _counted(case: Any) -> tuple[Ledger, Ledger]:
    """The case by the formulas, and as on a GPU; on fake tensors, so that nothing is computed."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        inputs = case.make()
    if case.kernel:
        ledger = _interpreted(case, inputs).ledger
        return ledger, ledger
    counted = accounting.account(case.formula or case.run, inputs, device="cuda")
    return counted.algorithmic, counted.executed


def _interpreted(case: Any, inputs: Sequence[Any]) -> Interpreted:
    kernel = getattr(_module("kernels_to_count", KERNELS), case.kernel)
    return count_triton(kernel, case.grid, *inputs, programs=PROGRAMS, **case.constants)


def table(found: list[Answer], machine: dict[str, Any]) -> str:
    """The page."""
    lines = [
        "# Known answers",
        "",
        "Each operator below ran once under Nsight Compute, and what the counters of the GPU saw is held",
        "against the formula. Caches were flushed before each pass (`--cache-control all`) and clocks left",
        "alone. `benchmarks/known_answers.py` runs the cases, `tools/known_answers.py` wrote this page from",
        "the export that is kept with the tests.",
        "",
        f"{machine['device']}, {machine['sm']} SM, L2 {show_binary(machine['l2'])}; torch "
        f"{machine['torch']}, CUDA {machine['cuda']}.",
        "",
        "## Arithmetic",
        "",
        "Flop of the pipe that does the work: the formula, what the rule says the hardware runs, and the",
        "counter. Where the formula fills whole tiles the counter equals it to the last flop; the excess of",
        "the others is padding (a library may choose larger tiles than the rule's least; grouped convolutions",
        "fill theirs half), or products that are computed again: flex_attention's backward makes the scores and",
        "their gradients once for dQ and once for dK and dV, seven products where the formula has four, and that",
        "of flash attention makes the scores again, five. The fp32 product also multiplies every result by alpha",
        "and adds beta. The counters of this card tell neither fp16 sums from fp32 ones nor 2:4 sparse products",
        "from dense ones: those two stand under the pipe that ran, with the flop of the dense product, zeros",
        "included. fp32 attention ran as three products in tf32 each.",
        "",
        "**Fewer than the formula** is possible too. cuDNN ran the 3x3 convolution in fp32 by Fourier transforms:",
        "half the flop of the formula, and 26 times its reads, for filters and images in a workspace. Winograd's",
        "algorithm has the same effect. Which algorithm runs is the library's choice at run time, so no rule here",
        "knows it: *executed* can be less than *algorithmic*, and is where a counter says so. The depthwise kernel",
        "leaves out taps that fall on padding (334 x 334 of 336 x 336 remain), which the formula counts. A Fourier",
        "transform is an estimate: 5 n log2 n. Time of any of these may be above the roof of its formula.",
        "",
        "| case | pipe | formula | rule for hardware | counter | counter/formula |",
        "|---|---|---:|---:|---:|---:|",
    ]
    lines += [_arithmetic(answer, pipe) for answer in found if (pipe := _matrix_pipe(answer))]
    lines += [
        "",
        "## Bytes from memory",
        "",
        "The first lines stream more than the L2 holds: reads are the formula within 2 %, and writes are short",
        f"by what was still dirty in the L2 ({show_binary(machine['l2'])}) when a kernel ended, never by more. In the",
        "others tiles read the same operand again and again, as far as the L2 does not hold it; picked elements",
        "bring 63 B each beside their index, two sectors of 32 B, which is how this L2 fetches; the attention",
        "backward keeps a sum of dQ in fp32, and reads it back; group norm reads its input twice; cuDNN's GRU",
        "puts its weights into another layout and then runs a product a step, whose 6.3 MB of weights a running",
        "program would find in the L2: here it was emptied before each.",
        "A fused optimizer is several launches, each of which leaves writes in the L2.",
        "",
        "| case | read, formula | read, counter | ratio | written, formula | written, counter | short by |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [_bytes(answer) for answer in sorted(found, key=lambda a: not a.streams)]
    lines += [
        "",
        "## Triton kernels",
        "",
        f"Counted in Triton's interpreter from {PROGRAMS} programs of the grid (`roofline.count_triton`), which is",
        "what stands as their formula above. What their loads and stores ask for is held here against what",
        "the SMs asked the L2 for; data that a program asks for twice may be in its L1.",
        "",
        "| case | requested, interpreter | requested, counter | ratio |",
        "|---|---:|---:|---:|",
    ]
    lines += [_requested(answer) for answer in found if answer.name.startswith("triton")]
    lines += ["", "## Kernels", ""]
    lines += [f"* {a.name}: {', '.join(f'`{_short(k)}`' for k in a.kernels)}" for a in found]
    for name, why in machine["skipped"].items():
        lines.append(f"* {name} did not run: {why}")
    return "\n".join(lines) + "\n"


def _matrix_pipe(answer: Answer) -> Resource | None:
    """Pipes whose flop counters count whole: tensor cores, and fp32 in matrix products."""
    pipe = answer.pipe
    if pipe is None or not (
        pipe.name.startswith("tensor")
        or answer.name.startswith(("gemm", "conv", "fft", "triton add"))
    ):
        return None
    return pipe


# The counters of compute capability 9.0 tell neither the type of the sums nor sparsity.
_COUNTED_AS = {TENSOR_FP16_ACC16: TENSOR_FP16, TENSOR_FP16_SPARSE: TENSOR_FP16}


def ran(answer: Answer, pipe: Resource) -> int:
    """What the counters saw on a pipe."""
    return answer.executed.get(_COUNTED_AS.get(pipe, pipe), 0)


def _arithmetic(answer: Answer, pipe: Resource) -> str:
    formula = answer.algorithmic.demand()[pipe]
    rule, counter = answer.by_rule.get(pipe, formula), ran(answer, pipe)
    return (
        f"| {answer.name} | {pipe.name} | {formula:,} | {rule:,} | {counter:,} | "
        f"{counter / formula:.4f} |"
    )


def _bytes(answer: Answer) -> str:
    read, written = (answer.algorithmic.traffic(DRAM, way) for way in ("read", "write"))
    short = f"{show(written - answer.written, 'B')}" if written > answer.written else "-"
    return (
        f"| {answer.name} | {read:,} | {answer.read:,} | {answer.read / read:.4f} | "
        f"{written:,} | {answer.written:,} | {short} |"
    )


def _requested(answer: Answer) -> str:
    asked = answer.algorithmic.demand()[L2]
    return f"| {answer.name} | {asked:,} | {answer.requested:,} | {answer.requested / asked:.4f} |"


def _short(kernel: str) -> str:
    return kernel if len(kernel) <= 70 else f"{kernel[:67]}..."


def cut(name: str, printed: Path, machine: Path) -> None:
    """Keep the columns that are read, without the host's name."""
    import csv

    lines = printed.read_text("utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    table = list(csv.reader(lines[start:]))
    header = table[0]
    kept = [i for i, name in enumerate(header) if "__" not in name or needed(name)
            or name == "device__attribute_display_name"]  # fmt: skip
    host = header.index("Host Name")
    DATA.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(export(name), "wb", mtime=0) as packed:
        for row in table:
            if row and row is not header and len(row) == len(header):
                row[host] = "host" if row[host] else ""
            cells = [row[i] for i in kept] if len(row) == len(header) else row
            packed.write(
                (",".join('"' + c.replace('"', '""') + '"' for c in cells) + "\n").encode()
            )
    found = json.loads(machine.read_text().splitlines()[-1])
    before = json.loads(MACHINE.read_text()) if MACHINE.exists() else {"skipped": {}}
    again = {case.name for case in cases().SETS[name]}
    kept_back = {case: why for case, why in before["skipped"].items() if case not in again}
    found["skipped"] = kept_back | found["skipped"]
    MACHINE.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    """Read the arguments, do one thing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("arguments")
    cutting = verbs.add_parser("cut")
    cutting.add_argument("name", metavar="SET", choices=cases().SETS)
    cutting.add_argument("export", type=Path)
    cutting.add_argument("machine", type=Path)
    verbs.add_parser("table").add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    if given.verb == "arguments":
        words = arguments(Wanted(), Path("LOG"))
        at = words.index("--log-file")
        print(" ".join(words[:at] + words[at + 2 :]))
    elif given.verb == "cut":
        cut(given.name, given.export, given.machine)
    else:
        text = table(answers(), json.loads(MACHINE.read_text()))
        if given.output is None:
            print(text, end="")
        else:
            given.output.write_text(text)


if __name__ == "__main__":
    main()
