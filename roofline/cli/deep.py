"""``roofline run --deep``: the timeline, then counters of the kernels with most to win."""

import sys
from collections.abc import Sequence
from pathlib import Path

from roofline import runfile
from roofline.cli.output import print_nothing, print_run
from roofline.cli.say import say, silent
from roofline.errors import BadInput
from roofline.replaying import deep
from roofline.runfile import Run


def replaced(target: Path) -> Run | None:
    """The run that the new one takes the place of, to hold the new one against."""
    if not target.is_file():
        return None
    try:
        return runfile.load(target)
    except BadInput as why:
        say(f"nothing to hold this run against: {why}")
        return None


def run_deep(
    script: str,
    arguments: Sequence[str],
    target: Path,
    *,
    warmup: int | None,
    steps: int | None,
    lines: int,
    before: Run | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Look twice, save one run, print it and what became of it; the script's exit code."""
    tell = silent if quiet else say
    before = before or replaced(target)
    looked = deep(
        script,
        arguments,
        warmup=warmup,
        steps=steps,
        lines=lines,
        output=sys.stderr if as_json else None,
        say=tell,
    )
    run = looked.run
    if run is None:
        tell(f"{script} called no PyTorch operator; nothing to save")
        if as_json:
            print_nothing()
        return looked.exit_code
    runfile.save(run, target)
    if as_json or not quiet:
        print_run(run, as_json=as_json, before=before)
    for warning in run.replays.warnings if run.replays else ():
        tell(f"Nsight Compute: {warning.removeprefix('Nsight Compute: ')}")
    tell(f"wrote {target.name}")
    return looked.exit_code
