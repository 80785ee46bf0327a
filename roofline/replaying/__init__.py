"""A program looked at twice: its timeline, then the counters of the kernels with most to win.

First the program runs under the recorder, undisturbed: its times are those of a user.  Then it runs
again under the user's own Nsight Compute, which replays one typical launch of each kernel that is
worth it.  Both become one run, in which the counters keep their own state.  Where there is no
profiler or no permission the timeline stands alone and says how to get the rest.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from roofline import runfile
from roofline.capture.sampling import driver
from roofline.errors import BadInput, Missing
from roofline.importers.ncu.collect import INSTALL, Profiled, Wanted, collect, imported
from roofline.importers.replayed import base, joined
from roofline.program import read
from roofline.replaying import child
from roofline.replaying.choice import Choice, choose
from roofline.runfile import NO_COUNTERS, Gap, Run
from roofline.units import number_of

OTHERS = (
    "the second run of the program started other kernels than the first: its launches were matched "
    "by name and order"
)
STOPPED = (130, 143)  # exit codes of a program that the user stopped: it is not run again
LINES = 5  # lines with most to win whose kernels are looked at
# Nothing of the user's folder may be imported for what this package imports.
_START = "import sys; sys.path[0] = sys.prefix; from roofline.cli import main; sys.exit(main())"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Looked:
    """What both looks found."""

    run: Run | None  # None: the program never used PyTorch
    exit_code: int  # of the program, undisturbed


def deep(
    script: str,
    arguments: Sequence[str] = (),
    *,
    warmup: int | None = None,
    steps: int | None = None,
    lines: int = LINES,
    output: TextIO | None = None,
    say: Say = lambda _: None,
) -> Looked:
    """Run `script` twice: under the recorder, then under ncu for the `lines` with most to win.

    `warmup` and `steps` are those of ``roofline run``; the script's output goes to `output` the
    first time, else where it always goes, and nowhere the second.  `say` is told what comes next.
    """
    if (why := _in_vain()) is not None:
        say(f"{why}; without hardware counters this will be the timeline alone")
    with tempfile.TemporaryDirectory(prefix="roofline-deep-") as folder:
        path = Path(folder) / "timeline.roof"
        options = ["--quiet", "-o", str(path)]
        options += ["--warmup", str(warmup)] if warmup is not None else []
        options += ["--steps", str(steps)] if steps is not None else []
        command = [sys.executable, "-c", _START, "run", *options, script, *arguments]
        code = child.run(command, output)
        run = runfile.load(path) if path.exists() else None
    if run is None or code in STOPPED:
        return Looked(run, code)
    try:
        return Looked(_with_counters(run, script, arguments, lines, say), code)
    except (Missing, BadInput) as why:
        return Looked(_alone(run, str(why)), code)


def _in_vain() -> str | None:
    """Why there will be no counters, as far as that is known before the program runs."""
    if not driver():
        return "there is no NVIDIA driver here (libcuda.so.1)"
    return None if shutil.which("ncu") else INSTALL


def _with_counters(run: Run, script: str, arguments: Sequence[str], lines: int, say: Say) -> Run:
    choice = choose(run, read(run), lines)
    if choice is None:
        return _alone(run, "no kernel ran on a GPU, and only theirs are counted here")
    number = number_of(len(choice.replayed), "launch")
    kernels = number_of(len({launch.function for launch in choice.chosen}), "kernel")
    say(f"running it again under ncu, which replays {number} of {kernels}")
    wanted = Wanted(levels=True, kernel_id=choice.kernel_id())
    profiled = collect([sys.executable, script, *arguments], wanted, subprocess.DEVNULL)
    return with_replays(run, choice, profiled, wanted)


def with_replays(run: Run, choice: Choice, profiled: Profiled, wanted: Wanted) -> Run:
    """The timeline with what was profiled beside it."""
    replayed = imported(profiled, wanted)
    names = [base(replayed.signatures[row["signature"]].name) for row in replayed.rows()]
    as_chosen = names == [launch.function for launch in choice.replayed]
    rows = [launch.row for launch in choice.replayed] if as_chosen else None
    made = joined(run, replayed, rows)
    assert made.replays is not None
    if as_chosen:
        return made
    warnings = (*made.replays.warnings, OTHERS)
    return replace(made, replays=replace(made.replays, warnings=warnings))


def _alone(run: Run, why: str) -> Run:
    """The timeline alone, with the way to the rest kept in it."""
    gap = Gap(name=NO_COUNTERS, what=f"this is the timeline alone: {why}")
    return replace(run, gaps=(*run.gaps, gap))
