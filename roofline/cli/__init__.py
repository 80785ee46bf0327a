"""The command line: read arguments, call one function, print one thing.

Commands are imported when they run, so that ``roofline --help`` loads nothing heavy.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from roofline.cli.group import Named
from roofline.cli.pipe import for_whoever_reads
from roofline.cli.say import say
from roofline.errors import RooflineError
from roofline.version import __version__

# name -> (module in roofline.cli, one line of help).  The order is the order in --help.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("run", "Run a PyTorch program; say why it is not faster."),
    "import": ("import_", "Read a profiler's files into a run; say what they show."),
    "ncu": ("ncu", "Run a program under Nsight Compute; say what its counters show."),
    "show": ("show", "Show a saved run: the answer, the table, the findings."),
    "report": ("report", "Write a saved run as one offline page."),
    "account": ("account", "Count what a model needs, operator by operator, without running it."),
    "op": ("op", "Account for one operator and place it under a roof."),
    "measure": ("measure", "Measure this device's ceilings and keep them."),
    "lab": ("lab", "Learn by measuring: predict, measure, compare."),
    "devices": ("devices", "List devices and their ceilings, with provenance."),
    "doctor": ("doctor", "Say what works on this machine, with known-answer checks."),
}


class _Lazy(Named):
    """A group whose commands live in modules of their own, loaded on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"roofline.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with for_whoever_reads():
            return super().make_context(*args, **kwargs)
        raise click.exceptions.Exit(0)

    def invoke(self, ctx: click.Context) -> Any:
        with for_whoever_reads():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roofline")
def cli() -> None:
    """Why is this not faster, and what do I do next?

    Measures what a device can do, counts what work needs, and places one against the other.

    \b
    Example:
      roofline run train.py
      roofline op gemm m=1 n=4096 k=4096 dtype=fp16 --device h100-sxm
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    A mistake the user can fix prints one line to standard error and returns 2; a gate that failed
    returns 1; anything else is our bug and keeps its traceback.
    """
    try:
        code: Any = cli.main(
            args=None if argv is None else list(argv), prog_name="roofline", standalone_mode=False
        )
    except RooflineError as error:
        return _fail(str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)  # the help, not a sentence
        return 2
    except click.ClickException as error:
        return _fail(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", 130)
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int) -> int:
    say(message)
    return code
