"""``roofline account``: count what a module or a function needs, without timing it."""

import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, Literal

import click

from roofline import accounting
from roofline.accounting import GROUPINGS, subject
from roofline.capture import INSTALL
from roofline.cli import options
from roofline.errors import BadInput, Missing
from roofline.report import account as report
from roofline.report.console import console
from roofline.report.shown import ACCOUNT_ROWS

if TYPE_CHECKING:
    from roofline.device import Device


@click.command("account")
@click.argument("model", metavar="MODEL")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="SHAPE",
    help="An input, as 8,128,4096:bf16; once for each.",
)
@click.option("--backward", is_flag=True, help="Differentiate the results as well.")
@click.option("--fake/--real", default=True, help="Fake tensors (the default), or real ones.")
@options.by(GROUPINGS, "operator")
@click.option("--device", metavar="NAME", help="Place it under the ceilings of this device.")
@click.option(
    "--cross-check", is_flag=True, help="Compare with torch's FlopCounterMode; explain differences."
)
@options.rows(ACCOUNT_ROWS)
@click.option("--conventions", is_flag=True, help="Print every convention of the count.")
@options.as_json
def command(
    model: str,
    shapes: tuple[str, ...],
    backward: bool,
    fake: bool,
    by: str,
    device: str | None,
    cross_check: bool,
    rows: int,
    conventions: bool,
    as_json: bool,
) -> None:
    """Count flop and bytes of MODEL, operator by operator.

    MODEL is script.py:name or module:name.  A class, or a function without parameters, is called
    and returns a module or a function, alone or with its inputs: (module, (x, y)).  Any other
    function is itself counted, with the inputs that --shape gives.  A trace of the PyTorch profiler
    or a run file is counted as recorded.

    Nothing is computed and no memory is needed, unless --real is given.

    \b
    Example:
      roofline account train.py:model --backward --cross-check
      roofline account net.py:Net --shape 8,3,224,224:bf16 --by module --device h100-sxm
      roofline account trace.json.gz
    """
    found = _device(device)
    wanted: dict[str, Any] = {"backward": backward, "fake": fake, "device": _kind(found)}
    checked = None
    if ":" not in model and os.path.isfile(model):
        if model.endswith(".py"):
            raise BadInput(f"{model} is a script: name what to count in it, as {model}:NAME")
        if cross_check:
            raise BadInput(f"{model} was recorded: torch's counter can only see what runs")
        counted = accounting.account(model)
    else:
        if importlib.util.find_spec("torch") is None:
            raise Missing(INSTALL)
        with _as_a_program(model.rpartition(":")[0]):
            made, inputs = _made(model, shapes, fake)
            if cross_check:
                counted, differences = accounting.cross_check(made, inputs, **wanted)
                checked = _checked(differences)
            else:
                counted = accounting.account(made, inputs, **wanted)
    document = {**report.document(counted, by, found), "cross_check": checked}
    if as_json:
        json.dump(document, sys.stdout, allow_nan=False)
        sys.stdout.write("\n")
        return
    report.print_document(document, console(), rows=rows, conventions=conventions)
    if checked is not None:
        from roofline.report import cross_check as report_of_check

        report_of_check.print_document(checked, console())


def _made(model: str, shapes: tuple[str, ...], fake: bool) -> tuple[Any, Sequence[Any]]:
    named = subject.named(model)
    with _fake_mode() if fake else nullcontext():
        return subject.made(named, shapes)


def _checked(differences: Sequence[Any]) -> dict[str, Any]:
    import torch

    from roofline.report import cross_check

    return cross_check.document(differences, torch.__version__)


def _device(name: str | None) -> "Device | None":
    if name is None:
        return None
    from roofline.bench.named import named

    return named(name)


def _kind(device: "Device | None") -> Literal["cpu", "cuda"] | None:
    if device is None:
        return None
    return "cuda" if device.kind == "gpu" else "cpu"


def _fake_mode() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


@contextmanager
def _as_a_program(name: str) -> Iterator[None]:
    """The script has no arguments; what it prints goes to standard error, apart from the answer."""
    given = sys.argv
    sys.argv = [name]
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.argv = given
