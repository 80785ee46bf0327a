"""``roofline lab``: guess first, then measure your own device."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofline.capture import INSTALL
from roofline.cli.group import Named
from roofline.errors import BadInput, Missing, NotFound
from roofline.report.console import console, print_whole
from roofline.units import parse, show
from roofline.whole import place_for, whole

if TYPE_CHECKING:
    from roofline.bench.lab.outcome import Cell, Column, Outcome, Question

SCHEMA = "roofline.lab/1"
_CHART = 90  # columns of a chart at most
Tick = Callable[[str, float], None]


@click.group(name="lab", cls=Named)
def command() -> None:
    """Learn by measuring your own device: predict, measure, compare.

    Each experiment asks for your prediction, or takes it by --predict, and shows it beside what was
    measured.

    \b
    Example:
      roofline lab dial
      roofline lab dial --chains 1 --predict 4
      roofline lab matmul --device cuda:0
      roofline lab launch --predict "5 us" --json
    """


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        click.option(
            "-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
            help="Write the document there too.",
        ),
        click.option("--predict", metavar="VALUE", help="Your prediction, instead of being asked."),
        click.option("--device", help="cpu or cuda:N; default: the first GPU, else the CPU."),
    ):  # fmt: skip
        function = option(function)
    return function


@command.command()
@_options
@click.option(
    "--chains", metavar="N", type=click.IntRange(1, 16), default=4, show_default=True,
    help="Independent chains of FMAs; 1 shows how long an FMA takes.",
)  # fmt: skip
@click.option("--chart", is_flag=True, help="Draw the steps under the roofs they follow.")
def dial(chains: int, chart: bool, **shared: Any) -> None:
    """Turn one kernel from memory-bound to compute-bound.

    Loads a float, does F fused multiply-adds on it and stores it, F from 1 to 2048: from 0.25 to
    512 flop/B.  Prints bandwidth and flop/s for each F and finds the ridge point.

    \b
    Example:
      roofline lab dial --predict 14
      roofline lab dial --chains 1
      roofline lab dial --chart
    """
    if chains & (chains - 1):
        raise BadInput(f"chains are a power of two, 1 to 16; got {chains}")
    from roofline.bench.lab import cpu_dial, gpu_dial
    from roofline.bench.lab.dial import CHAINS, LATENCY, QUESTION

    _experiment(
        QUESTION if chains >= CHAINS else LATENCY,
        lambda tick: cpu_dial.measure(chains, tick),
        lambda index, tick: gpu_dial.measure(index, chains, tick),
        chart=chart,
        **shared,
    )


@command.command()
@_options
def matmul(**shared: Any) -> None:
    """Compare matrix products by type: fp16 with either accumulator.

    On a CPU: bf16 with fp32.

    \b
    Example:
      roofline lab matmul --predict 2
    """
    from roofline.bench.lab import matmul as experiment

    _require_torch()
    _experiment(experiment.QUESTIONS, experiment.on_cpu, experiment.on_gpu, **shared)


@command.command()
@_options
def launch(**shared: Any) -> None:
    """Time starting work that does nothing, in three ways.

    \b
    Example:
      roofline lab launch --predict "5 us"
    """
    from roofline.bench.lab import starts

    _require_torch()
    _experiment(starts.QUESTIONS, starts.on_cpu, starts.on_gpu, **shared)


@command.command()
@_options
def banks(**shared: Any) -> None:
    """Let lanes collide on the banks of shared memory (NVIDIA).

    \b
    Example:
      roofline lab banks --predict 32
    """
    from roofline.bench.lab import banks as experiment

    _experiment(experiment.QUESTION, None, experiment.on_gpu, **shared)


def _require_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise Missing(INSTALL)


def _experiment(
    asked: "Question | dict[str, Question]",
    on_cpu: "Callable[[Tick], Outcome] | None",
    on_gpu: "Callable[[int, Tick], Outcome]",
    *,
    device: str | None,
    predict: str | None,
    output: Path | None,
    as_json: bool,
    chart: bool = False,
) -> None:
    if output is not None:
        place_for(output, b"{", "result of an experiment")
    index = _index(device)
    if index is None and on_cpu is None:
        raise Missing("this experiment needs an NVIDIA GPU; there is cpu")
    question = asked if not isinstance(asked, dict) else asked["cpu" if index is None else "gpu"]
    prediction = _prediction(question, predict, as_json)
    outcome = _measured(index, on_cpu, on_gpu)
    document = _document(outcome, prediction)
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(document), indent=1)
    if output is not None:
        with whole(output) as file:
            file.write_bytes(text + b"\n")
    if as_json:
        click.echo(text)
    else:
        _print(outcome, prediction, chart)


def _index(device: str | None) -> int | None:
    """Number of the GPU that is meant; None is the CPU."""
    from roofline.bench.gpu import count

    if device == "cpu" or (device is None and not count()):
        return None
    name = device or "cuda:0"
    kind, _, number = name.partition(":")
    if kind != "cuda" or not (number or "0").isdecimal():
        there = ", ".join(("cpu", *(f"cuda:{i}" for i in range(count()))))
        raise NotFound(f"no device {name!r} here; there is {there}")
    return int(number or 0)


def _prediction(question: "Question", given: str | None, as_json: bool) -> float | None:
    """What was guessed, in the question's unit; asked for where somebody can answer."""
    if given is None and not as_json and sys.stdin.isatty():
        click.echo(f"Before measuring: {question.text}\n({question.hint}; empty is no guess)")
        given = click.prompt("your prediction", default="", show_default=False)
    if not given:
        return None
    if question.unit == "s":
        return parse(given, "s")
    try:
        value = float(given.removesuffix("flop/B").removesuffix("x"))
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise BadInput(f"a prediction is a positive number{_in(question.unit)}; got {given!r}")
    return value


def _in(unit: str) -> str:
    return f" of {unit}" if unit else ""


def _measured(
    index: int | None,
    on_cpu: "Callable[[Tick], Outcome] | None",
    on_gpu: "Callable[[int, Tick], Outcome]",
) -> "Outcome":
    from rich.console import Console

    shown = sys.stderr.isatty()
    with Console(stderr=True).status("measuring") as status:
        if not shown:
            status.stop()

        def tick(what: str, _share: float) -> None:
            status.update(f"measuring, {what}")

        return on_gpu(index, tick) if index is not None else on_cpu(tick)  # type: ignore[misc]


def _document(outcome: "Outcome", prediction: float | None) -> dict[str, Any]:
    answer = outcome.answer
    return {
        "schema": SCHEMA,
        "experiment": outcome.experiment,
        "device": {"name": outcome.device, "kind": outcome.kind},
        "question": outcome.question.text,
        "unit": outcome.question.unit,
        "prediction": prediction,
        "measured": answer,
        "off_by": answer / prediction if answer and prediction else None,
        "columns": [{"name": c.name, "unit": c.unit} for c in outcome.columns],
        "rows": outcome.rows,
        "notes": outcome.notes,
        "conditions": outcome.conditions,
    }


def _print(outcome: "Outcome", prediction: float | None, chart: bool) -> None:
    from rich.table import Table

    out = console()
    out.print(f"{outcome.experiment} on {outcome.device}\n", style="bold")
    table = Table(box=None, pad_edge=False, header_style="bold")
    # What nobody can look at on this device is no column: a CPU's machine code, its clock.
    told = [i for i, _ in enumerate(outcome.columns) if any(row[i] for row in outcome.rows)]
    for i in told:
        table.add_column(outcome.columns[i].name, justify="right" if i else "left", no_wrap=True)
    for row in outcome.rows:
        table.add_row(*(_cell(row[i], outcome.columns[i]) for i in told))
    print_whole(out, table)
    if chart:
        out.print("\n" + "\n".join(_drawn(outcome, min(out.width, _CHART))), crop=False)
    unit = outcome.question.unit
    out.print(f"\n{outcome.question.text}")
    measured = "not found" if outcome.answer is None else _value(outcome.answer, unit)
    out.print(f"  measured   {measured}")
    if prediction is None:
        out.print("  predicted  nothing; --predict takes a guess")
    else:
        off = (
            "" if not outcome.answer else f" (measured is {outcome.answer / prediction:.2f} of it)"
        )
        out.print(f"  predicted  {_value(prediction, unit)}{off}")
    for note in outcome.notes:
        out.print(note)
    out.print(f"\n{'; '.join(outcome.conditions)}")


def _drawn(outcome: "Outcome", width: int) -> list[str]:
    """The dial's chart: intensity and flop/s of every step."""
    from roofline.bench.lab.dial import roofs
    from roofline.report import dial as drawing

    steps = [(float(row[1] or 0), float(row[3] or 0)) for row in outcome.rows]
    return drawing.chart(steps, *roofs(outcome), width)


def _value(value: float, unit: str) -> str:
    return show(value, unit) if unit else f"{value:.3g}"


def _cell(cell: "Cell", column: "Column") -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    return show(cell, column.unit) if column.unit else f"{cell:.4g}"
