"""``roofline op``: account for one operator and place it."""

import json
from datetime import date

import click

from roofline import ops
from roofline.cli import options
from roofline.device import PIPES, RESOURCES, SFU, Ceiling, Device, Roof
from roofline.errors import BadInput
from roofline.program import single
from roofline.provenance import Basis, Provenance
from roofline.report import operator
from roofline.report.document import document
from roofline.units import parse
from roofline.work import Ledger, Work

STATED = "stated on the command line"
TILED = 8.0  # compute capability from which tensor instructions have the tiles of `ops`


@click.command("op")
@click.argument("name", required=False)
@click.argument("parameters", nargs=-1, metavar="[k=v ...]")
@click.option("--device", metavar="NAME", help="Place under the ceilings of this device.")
@click.option("--compute", metavar="RATE", help="State the rate of every pipe but sfu.")
@click.option("--bandwidth", metavar="RATE", help="State the bandwidth of dram.")
@click.option(
    "--time", "time_text", metavar="TIME", help="A measured time, to hold against the roof."
)
@click.option("--list", "list_", is_flag=True, help="List operators with their parameters.")
@options.as_json
def command(
    name: str | None,
    parameters: tuple[str, ...],
    device: str | None,
    compute: str | None,
    bandwidth: str | None,
    time_text: str | None,
    list_: bool,
    as_json: bool,
) -> None:
    """Account for one operator by its sizes and place it under a roof.

    \b
    Example:
      roofline op gemm m=1 n=4096 k=4096 dtype=fp16 --compute '120 TFLOP/s' --bandwidth '2 TB/s'
      roofline op attention batch=1 heads=32 seq_q=1 seq_kv=4096 head_dim=128 --device h100-sxm
      roofline op --list
    """
    if list_:
        click.echo(_list(as_json))
        return
    if name is None:
        raise BadInput(f"name an operator; there is {', '.join(ops.FORMULAS)}")
    given = _assignments(parameters)
    ledger = ops.formula(name, **given)
    known, roof = _roof(device, compute, bandwidth)
    time_s = None if time_text is None else parse(time_text, "s")
    work = Work(algorithmic=ledger, executed=_executed(known, name, ledger, given))
    made = document(single(name, work, roof, time_s, known))
    click.echo(json.dumps(made) if as_json else operator.words(made))


def _executed(
    device: Device | None, name: str, ledger: Ledger, given: dict[str, str]
) -> Ledger | None:
    """What this device is known to do beyond the formula: tiles are those of NVIDIA's."""
    if device is None:
        return None
    generation = device.fact("compute_capability")
    if device.kind == "gpu" and (generation is None or float(generation.value) < TILED):
        return None
    return ops.formula_executed(name, ledger, device.kind, given)


def _assignments(parameters: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for word in parameters:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise BadInput(f"parameters are written k=v, such as m=4096; got {word!r}")
        if key in values:
            raise BadInput(f"parameter {key!r} is given twice")
        values[key] = value
    return values


def _roof(
    device: str | None, compute: str | None, bandwidth: str | None
) -> tuple[Device | None, Roof]:
    if device is not None and (compute or bandwidth):
        raise BadInput("state a device, or --compute and --bandwidth, not both")
    if device is not None:
        from roofline.bench.named import named

        found = named(device)
        return found, found.in_force()
    if compute is None and bandwidth is None:
        raise BadInput("state a roof: --device NAME, or --compute RATE and --bandwidth RATE")
    provenance = Provenance(basis=Basis.STATED, source=STATED, as_of=date.today())
    rates: dict[str, float] = {}
    if compute is not None:
        rate = _compute_rate(compute)
        rates |= {pipe.name: rate for pipe in PIPES if pipe != SFU}
    if bandwidth is not None:
        rates["dram"] = parse(bandwidth, "B/s")
    ceilings = tuple(
        Ceiling(resource=RESOURCES[at], rate=rate, provenance=provenance)
        for at, rate in rates.items()
    )
    return None, Roof(name=STATED, kind="gpu", ceilings=ceilings)


def _compute_rate(text: str) -> float:
    """A pipe's rate may be written in flop/s or, for integers, in op/s."""
    try:
        return parse(text, "op/s")
    except BadInput:
        return parse(text, "flop/s")


def _list(as_json: bool) -> str:
    table = {name: ops.parameters(name) for name in ops.FORMULAS}
    if as_json:
        operators = [
            {
                "name": name,
                "does": _does(name),
                "parameters": [
                    {"name": p.name, "type": p.type, "default": p.default} for p in wanted
                ],
            }
            for name, wanted in table.items()
        ]
        return json.dumps({"schema": "roofline.operators/1", "operators": operators})
    width = max(map(len, table))
    lines = []
    for name, wanted in table.items():
        lines.append(f"{name:<{width}}  {_does(name)}")
        lines.append(f"{'':<{width}}    {' '.join(map(_parameter, wanted))}")
    return "\n".join(lines)


def _parameter(p: ops.Parameter) -> str:
    """``m`` must be given, ``dtype=bf16`` need not."""
    return p.name if p.default is None else f"{p.name}={p.default}"


def _does(name: str) -> str:
    return (ops.FORMULAS[name].__doc__ or "").strip().splitlines()[0]
