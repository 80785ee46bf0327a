"""``roofline ncu``: a program under Nsight Compute -> a run file with counters, and its answer."""

import sys
from pathlib import Path

import click

from roofline import runfile
from roofline.cli import options
from roofline.cli.output import print_run
from roofline.cli.say import say
from roofline.importers.ncu.collect import Wanted, collect, imported, named


@click.command("ncu", context_settings={"allow_interspersed_args": False})
@options.output("Run file to write (default: the script's name with .ncu.roof, here).")
@click.option(
    "--cache",
    type=click.Choice(["flush", "none"]),
    default="flush",
    show_default=True,
    help="Flush the caches before every pass, or leave them alone.",
)
@click.option(
    "--levels", is_flag=True, help="Also count L2, L1 and shared memory and stalls: more passes."
)
@click.option("--kernel", metavar="REGEX", help="Profile only kernels whose name matches.")
@click.option(
    "--skip", metavar="N", type=click.IntRange(0), help="Leave out this many launches first."
)
@click.option(
    "--count", metavar="N", type=click.IntRange(1), help="Profile at most this many launches."
)
@click.option("--device", metavar="NAME", help="Device it runs on, if the profiler does not say.")
@options.as_json
@options.quiet
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM...")
def command(
    output: Path | None,
    cache: str,
    levels: bool,
    kernel: str | None,
    skip: int | None,
    count: int | None,
    device: str | None,
    as_json: bool,
    quiet: bool,
    program: tuple[str, ...],
) -> int:
    """Run PROGRAM under your own Nsight Compute and import what its counters saw.

    Every launch is counted by itself: its time, its bytes from memory, its flop by type; the fewest
    metrics that account for it, so the fewest passes.  Clocks are left alone.  Caches are flushed
    before every pass, unless --cache none: times and bytes are those of a cold launch.  The exit
    code is the profiler's, which is the program's.  With --json the program's standard output goes
    to standard error.

    \b
    Example:
      roofline ncu -- python train.py --steps 1
      roofline ncu --kernel gemm --count 20 -o gemm.roof -- python train.py
    """
    wanted = Wanted(
        cache="none" if cache == "none" else "flush",
        levels=levels,
        kernel=kernel,
        skip=skip,
        count=count,
        device=device,
    )
    target = output or Path(f"{Path(named(program)).stem}.ncu.roof")
    runfile.place_for(target)
    profiled = collect(program, wanted, sys.stderr if as_json else None)
    run = imported(profiled, wanted)
    runfile.save(run, target)
    for warning in run.recorder.warnings if as_json or quiet else ():  # the text has them on top
        say(warning)
    if as_json or not quiet:
        print_run(run, as_json=as_json)
    if not quiet:
        say(run.recorder.timer)
        say(f"wrote {target.name}")
    return profiled.exit_code
