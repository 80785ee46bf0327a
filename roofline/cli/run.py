"""``roofline run``: a PyTorch program -> a run file, and what it says."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from click.core import ParameterSource

from roofline import runfile
from roofline.capture import INSTALL
from roofline.capture.sampling import require_driver
from roofline.capture.script.run import Outcome, check, run_script
from roofline.cli import options
from roofline.cli.pipe import for_whoever_reads
from roofline.cli.say import say
from roofline.errors import BadInput, Missing, RooflineError
from roofline.runfile import Run
from roofline.whole import written_into

if TYPE_CHECKING:
    from roofline.capture.recording import Recording
    from roofline.device import Device


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option(
    "--warmup", metavar="N", type=click.IntRange(0), help="Steps to set apart first (default 1)."
)
@click.option(
    "--steps",
    metavar="N",
    type=click.IntRange(1),
    help="Write the run after this many more; SCRIPT goes on unrecorded.",
)
@options.output("Run file to write (default: SCRIPT's name with .roof, here).")
@click.option(
    "--deep",
    is_flag=True,
    help="Run it again under Nsight Compute for counters of the kernels with most to win.",
)
@click.option(
    "--kernels",
    metavar="N",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="With --deep: lines with most to win whose kernels are counted.",
)
@click.option(
    "--counters",
    "sampled",
    is_flag=True,
    help="Sample what crosses an NVIDIA GPU's memory while SCRIPT runs: no replay, no slow-down.",
)
@click.option("--levels", is_flag=True, help="With --counters: also what the SMs ask of the L2.")
@click.option(
    "--sample-us",
    metavar="US",
    type=click.FloatRange(1, 1000),
    default=1.0,
    show_default=True,
    help="With --counters: microseconds between samples.  Longer ones cover longer steps.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Say whether the bottleneck moved since RUN (--deep: since the run it replaces).",
)
@options.as_json
@options.quiet
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
def command(
    warmup: int | None,
    steps: int | None,
    output: Path | None,
    deep: bool,
    kernels: int,
    sampled: bool,
    levels: bool,
    sample_us: float,
    against: Path | None,
    as_json: bool,
    quiet: bool,
    script: str,
    arguments: tuple[str, ...],
) -> int:
    """Run SCRIPT with its ARGS under the recorder and say why it is not faster.

    SCRIPT needs no change.  Options of roofline come before it, everything after it is its own.
    The exit code is the script's.  With --json its standard output goes to standard error.

    With --deep SCRIPT runs twice: its times are those of the first, undisturbed; the second, under
    your own ncu, replays one launch of each kernel with most to win and keeps its counters apart.

    With --counters the GPU's own counters are sampled in the same run: the bytes that each kernel
    and each step moved stand beside those of the formulas.

    \b
    Example:
      roofline run train.py --epochs 1
      roofline run --steps 5 -o train.roof train.py
      roofline run --deep train.py
      roofline run --counters train.py
    """
    check(script)
    _together(sampled, deep)
    if sampled:
        require_driver()
        if deep:
            raise BadInput("--counters samples a run and --deep replays it; give one of the two")
    # Its full path: the script may change directory, and may take long.
    target = runfile.place_for(output or Path(f"{Path(script).stem}.roof"))
    if importlib.util.find_spec("torch") is None:
        raise Missing(INSTALL)

    before = None if against is None else runfile.load(against)
    device = _this_cpu(quiet)
    if deep:
        from roofline.cli.deep import run_deep

        return run_deep(
            script, arguments, target, warmup=warmup, steps=steps, lines=kernels, before=before,
            as_json=as_json, quiet=quiet,
        )  # fmt: skip

    def start() -> "Recording":
        from roofline.capture.recording import Recording
        from roofline.capture.sampling.sampler import Sampler

        return Recording(
            program=Path(script).name,
            device=device,
            warmup=warmup,
            steps=steps,
            sampler=Sampler(levels=levels, interval_us=sample_us) if sampled else None,
            when_full=lambda run: _save_early(run, script, target, quiet=quiet),
        )

    with _answer_apart(as_json) as answer:
        return run_script(
            script,
            arguments,
            start,
            lambda outcome: _finish(
                outcome, script, target, answer, before, as_json=as_json, quiet=quiet
            ),
        )


def _together(sampled: bool, deep: bool) -> None:
    """Refuse an option that says how to do what was not asked for."""
    given = click.get_current_context().get_parameter_source
    for needed, there, names in (
        ("--deep", deep, {"kernels": "--kernels"}),
        ("--counters", sampled, {"levels": "--levels", "sample_us": "--sample-us"}),
    ):
        for name, option in names.items():
            if not there and given(name) is ParameterSource.COMMANDLINE:
                raise BadInput(f"{option} goes with {needed}")


def _this_cpu(quiet: bool) -> "Device | None":
    """The newest measurement of this CPU; where there is none, one is made first.

    In a process of its own: measuring binds threads and loads PyTorch, and this process is to
    become the script's.
    """
    from roofline.bench.cpu import device_id
    from roofline.devices.kept import newest

    device = newest(device_id())
    if device is not None:
        return device
    if not quiet:
        say("this CPU was never measured; measuring it quickly")
    # -P: a file of the user's that is called like a module must not be imported for it.
    command = [sys.executable, "-P", "-m", "roofline", "measure", "--quick"]
    measured = subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if quiet else None,
        text=True,
        check=False,
    )
    if measured.returncode != 0:
        sys.stderr.write(measured.stderr or "")
        say("measuring failed; times will have no roof beside them")
    return newest(device_id())


@contextmanager
def _answer_apart(as_json: bool) -> Iterator[TextIO]:
    """A stream for the answer alone, whatever the script does to its standard output.

    For JSON the script's standard output becomes standard error, at the level of the operating
    system, for the rest of the process: threads and exit handlers may still print.
    """
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w") as answer:
        if as_json:
            os.dup2(2, 1)
        yield answer


def _save_early(run: Run, script: str, target: Path, *, quiet: bool) -> None:
    """Save what was recorded while the script goes on: whatever ends it, this is not lost."""
    if not run.signatures:
        return
    recorded = "the steps asked for are recorded"
    if written_into(target):  # whoever reads there would get two runs, one after the other
        if not quiet:
            say(f"{recorded}; {target.name} is no file, it gets the run when {script} ends")
        return
    try:
        runfile.save(run, target)
    except RooflineError as error:  # the script's own work must not end for this
        say(f"{error}; trying again when {script} ends")
        return
    if not quiet:
        say(f"{recorded}: wrote {target.name}; {script} goes on without")


def _finish(
    outcome: Outcome,
    script: str,
    target: Path,
    answer: TextIO,
    before: Run | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    run = outcome.run
    if run is None or not run.signatures:
        if not quiet:
            say(f"{script} called no PyTorch operator; nothing to save")
        if as_json:
            from roofline.cli.output import print_nothing

            with redirect_stdout(answer), for_whoever_reads():
                print_nothing()
        return
    runfile.save(run, target)
    if not quiet or as_json:
        from roofline.cli.output import print_run

        with redirect_stdout(answer), for_whoever_reads():
            print_run(run, as_json=as_json, before=before)
    if not quiet:
        for warning in run.recorder.warnings if as_json else ():  # the text has them on top
            say(warning)
        say(f"wrote {target.name}")
