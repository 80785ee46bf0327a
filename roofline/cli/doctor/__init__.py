"""``roofline doctor``: what works on this machine, held against known answers."""

import json
from typing import TYPE_CHECKING, Any

import click

from roofline.cli import options
from roofline.errors import GateFailed
from roofline.report.console import console

if TYPE_CHECKING:
    from rich.table import Table

SCHEMA = "roofline.doctor/1"


@click.command(name="doctor")
@options.as_json
def command(as_json: bool) -> None:
    """Say what works on this machine and what would make more of it work.

    Three things with known answers are computed anew: a placement, an operator's counts, and a
    kept ceiling.  The exit code is 1 when one of them is wrong.

    \b
    Example:
      roofline doctor
      roofline doctor --json
    """
    from dataclasses import asdict

    from roofline.cli.doctor import answers, machine

    # The model is asked while another process tries to import torch; a ceiling needs quiet.
    probe = machine.start_torch()
    given = [answers.model(), answers.rule()]
    facts = machine.facts(probe)
    given.append(answers.ceiling())
    document = {"schema": SCHEMA, **facts, "known_answers": [asdict(a) for a in given]}
    if as_json:
        click.echo(json.dumps(document))
    else:
        out = console()
        out.print(_what_is_here(document))
        out.print()
        out.print(_known_answers(document))
    if wrong := [answer.name for answer in given if answer.status == "wrong"]:
        raise GateFailed(f"known answers came out wrong: {', '.join(wrong)}")


def _what_is_here(document: dict[str, Any]) -> "Table":
    table = _grid()
    python, cpu = document["python"], document["cpu"]
    table.add_row("roofline", f"{document['roofline']}, Python {python}, {document['system']}")
    table.add_row("processor", f"{cpu['model']}, {cpu['cores']} cores to use")
    compiler = document["compiler"]
    table.add_row("compiler", compiler["version"] if compiler else "none: ceilings need llvmlite")
    table.add_row("torch", _torch(document["torch"]))
    for ceilings in document["ceilings"]:
        problem = ceilings["problem"]
        table.add_row(
            "ceilings",
            f"{ceilings['device']}: "
            + (problem or f"{ceilings['count']} measured {_age(ceilings['age_s'])}")
            + ", interrupted before everything was measured" * bool(ceilings["partial"]),
        )
    if not document["ceilings"]:
        table.add_row(
            "ceilings", "none measured; `roofline measure --quick` takes 10 to 15 seconds"
        )
    home = document["home"]
    table.add_row("kept in", home["path"] + ("" if home["writable"] else ": cannot be written"))
    for name, counters in document["counters"].items():
        table.add_row("counters", f"{name}: {counters['meaning']}")
    found = [name for name, path in document["profilers"].items() if path]
    absent = [name for name, path in document["profilers"].items() if not path]
    table.add_row("profilers", ", ".join([*found, *(f"no {name}" for name in absent)]))
    for extra in document["extras"]:
        if extra["missing"]:
            table.add_row("missing", f"{extra['purpose']}: {extra['install']}")
    return table


def _torch(torch: dict[str, Any] | None) -> str:
    if torch is None:
        return "not installed"
    if torch["problem"]:
        return f"{torch['version']} is installed but fails: {torch['problem']}"
    devices = ", ".join(torch["devices"])
    built = "the CPU only"
    for platform, version in (("CUDA", torch["cuda"]), ("ROCm", torch["hip"])):
        built = f"{platform} {version}" if version else built
    return f"{torch['version']}, built for {built}: {devices}"


def _known_answers(document: dict[str, Any]) -> "Table":
    table = _grid()
    for answer in document["known_answers"]:
        table.add_row(answer["status"], f"{answer['name']}: {answer['question']}: {answer['told']}")
    return table


def _grid() -> "Table":
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    return table


def _age(seconds: float) -> str:
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes ago"
    hours = seconds / 3600
    return f"{hours:.0f} hours ago" if hours < 48 else f"{hours / 24:.0f} days ago"
