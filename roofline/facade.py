"""What ``import roofline as rl`` offers: one short verb for each thing the command line does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roofline import placement, runfile
from roofline.accounting.account import Account, Group
from roofline.call import Call
from roofline.device import DRAM, Device, Resource, Roof
from roofline.ops import add_rule as rule
from roofline.ops.own import ledger
from roofline.placement import Placement
from roofline.runfile import Run
from roofline.work import Ledger, Work

if TYPE_CHECKING:
    from roofline.accounting.expected import Expected
    from roofline.accounting.interpreted import Interpreted

__all__ = [
    "Accounting", "Recording", "account", "count_triton", "declare", "deep", "device", "ledger",
    "load", "measure", "place", "profile", "rule",
]  # fmt: skip


@dataclass(slots=True, repr=False)
class Recording:
    """A run and what can be said of it; shows itself in a terminal and in a notebook."""

    _run: Run | None = None
    _capture: Any = None

    @property
    def run(self) -> Run:
        """The saved form: events, signatures, ledgers, ceilings, provenance."""
        if self._run is None:
            from roofline.errors import BadInput

            raise BadInput("the recording is not finished: leave the `with` block first")
        return self._run

    def step(self) -> None:
        """End one step of the program here."""
        self._capture.step()

    def document(self, by: str = "call") -> dict[str, Any]:
        """Placement and findings as plain data, schema ``roofline.placement/1``."""
        from roofline.report.document import of_run

        return of_run(self.run, by)

    def what_if(
        self,
        *,
        device: str | Device | None = None,
        dtype: str | None = None,
        batch: int | tuple[int, int] | None = None,
        by: str = "call",
    ) -> dict[str, Any]:
        """The same program elsewhere, as plain data, schema ``roofline.whatif/1``.

        On another device, in another floating-point type, with another batch (or with (recorded,
        asked for), where the recording leaves open which of its sizes is the batch).
        """
        from roofline.program.whatif import what_if
        from roofline.report import whatif

        named = None if device is None else _named(device)
        return whatif.document(what_if(self.run, device=named, dtype=dtype, batch=batch), by)

    def save(self, path: str | Path) -> None:
        """Write the run file."""
        runfile.save(self.run, Path(path))

    def report(self, path: str | Path) -> None:
        """Write the offline page."""
        from roofline.report import html

        html.write(self.document(), Path(path))

    def show(self, by: str = "call") -> None:
        """Print the answer, the table and the findings."""
        from roofline.report.console import console
        from roofline.report.text import print_document

        print_document(self.document(by), console())

    def __repr__(self) -> str:
        if self._run is None:
            return "a recording that is not finished"
        from roofline.errors import RooflineError
        from roofline.report.brief import of_run

        try:
            return of_run(self.document())
        except RooflineError as error:  # a repr never raises
            return f"a recording: {error}"

    def _repr_html_(self) -> str:
        from roofline.report.console import as_html
        from roofline.report.text import print_document

        return as_html(lambda console: print_document(self.document(), console))


@dataclass(frozen=True, slots=True, repr=False)
class Accounting:
    """An account and what can be said of it; shows itself in a terminal and in a notebook."""

    account: Account  # distinct calls with their ledgers, and how often each was made

    @property
    def algorithmic(self) -> Ledger:
        """By the formulas: each operand once, nothing twice."""
        return self.account.algorithmic

    @property
    def executed(self) -> Ledger:
        """What is known to run: recomputation, tiles and sectors included."""
        return self.account.executed

    @property
    def flop(self) -> int:
        """Algorithmic flop of all pipes; with anything in `unaccounted`, at least that."""
        return self.account.flop

    @property
    def unaccounted(self) -> Mapping[str, int]:
        """What nobody can account for, and how often it was called."""
        return self.account.unaccounted

    @property
    def conventions(self) -> tuple[str, ...]:
        """Choices that a reader could make otherwise, in words."""
        return self.account.conventions

    def by(self, grouping: str = "operator") -> tuple[Group, ...]:
        """Summed by operator, module, phase or call."""
        return self.account.by(grouping)

    def expected(self, device: str | Device) -> "Expected | None":
        """What PyTorch's own kernels would take on a device whose starts and paces were measured.

        Its `lacking` says what that measurement does not hold.  None: nothing is accounted for.
        """
        from roofline.accounting.expected import expected

        return expected(self.account, self.account.lines, _named(device).in_force())

    def document(self, by: str = "operator", device: str | Device | None = None) -> dict[str, Any]:
        """All of it as plain data, schema ``roofline.account/1``."""
        from roofline.report.account import document

        return document(self.account, by, None if device is None else _named(device))

    def show(self, by: str = "operator", device: str | Device | None = None) -> None:
        """Print the whole, what is missing, and the table."""
        from roofline.report.account import print_document
        from roofline.report.console import console

        print_document(self.document(by, device), console())

    def __repr__(self) -> str:
        from roofline.report.brief import of_account

        return of_account(self.document())

    def _repr_html_(self) -> str:
        from roofline.report.account import print_document
        from roofline.report.console import as_html

        return as_html(lambda console: print_document(self.document(), console))


def account(
    subject: Callable[..., Any] | Recording | Run | str | Path | Any,
    *inputs: Any,
    backward: bool = False,
    fake: bool = False,
    device: Literal["cpu", "cuda"] | None = None,
) -> Accounting:
    """Count what `subject` needs when it is called with `inputs`: flop by pipe, bytes by boundary.

    subject    a module or function; an ExportedProgram of torch.export; a recording, a run, or the
               path of a run file or of a profiler's trace
    backward   differentiate the results as well; gradients are left as they were
    fake       put fake tensors in the place of the real ones: nothing is computed, no memory is
               needed, and nothing changes.  Fake tensors and modules made of them are always fine.
    device     count as if it ran there: "cuda" for a GPU's tiles and sectors

    Raises BadInput when what is called depends on data and there is none.
    """
    from roofline import accounting

    if isinstance(subject, Recording):
        subject = subject.run
    return Accounting(
        accounting.account(subject, inputs, backward=backward, fake=fake, device=device)
    )


def declare(kernel: Any, ledger: Ledger | Callable[[Call], Ledger]) -> None:
    """Account for launches of a Triton kernel by `ledger`, or by a function of the launch.

    The function gets the launch as a `roofline.call.Call`: the kernel's arguments in order, then
    the grid.  A kernel can be declared once in a process; others are named as unaccounted.
    """
    from roofline.accounting import launches

    launches.declare(kernel, ledger)


def count_triton(
    kernel: Any, grid: Sequence[int], *args: Any, programs: int = 64, **named: Any
) -> "Interpreted":
    """Count one launch of a Triton kernel by running part of its grid in Triton's interpreter.

    The result has ``flop``, bytes ``requested`` and ``touched``, and a ``ledger`` for `declare`; it
    is exact when all programs of the grid were run, else scaled from `programs` of them.
    """
    from roofline.accounting import interpreted

    return interpreted.count_triton(kernel, grid, *args, programs=programs, **named)


def load(
    *paths: str | Path,
    device: str | None = None,
    decimal: str | None = None,
    ncu_cache: str | None = None,
    ncu_clock: str | None = None,
    keep_private: bool = False,
) -> Recording:
    """Read a saved run, or the files of a profiler, recognised by their content.

    The rest says of a profiler's files what they do not say, in the words of ``roofline import``:
    the device, or as ``cuda:1`` which of several; the decimal mark; Nsight Compute's cache control
    (``flush``, ``none``) and clock control (``base``, ``none``).
    """
    from roofline import importers
    from roofline.errors import BadInput

    options = importers.said(device, decimal, ncu_cache, ncu_clock, keep_private)
    if len(paths) == 1 and not importers.foreign_file(paths[0]):
        saved = Recording(runfile.load(Path(paths[0])))
        if options != importers.said():
            raise BadInput(f"{paths[0]} is a saved run; what is said of files is for a profiler's")
        return saved
    return Recording(importers.load(paths, options))


def deep(
    script: str | Path,
    *arguments: str,
    warmup: int | None = None,
    steps: int | None = None,
    kernels: int = 5,
) -> Recording:
    """Run a script twice: its timeline first, then the counters of the kernels with most to win.

    The second time it runs under the ``ncu`` on the PATH, which replays one launch of each kernel
    that the time of the `kernels` worst lines goes into.  Without a profiler, or permission, the
    timeline stands alone and its gaps say how to get the rest.  `warmup` and `steps` are those of
    `profile`: steps to set apart first, and steps to record after them.
    """
    from roofline import replaying
    from roofline.errors import BadInput

    found = replaying.deep(str(script), arguments, warmup=warmup, steps=steps, lines=kernels)
    if found.run is None:
        raise BadInput(f"{script} called no PyTorch operator; there is nothing to look at")
    return Recording(found.run)


def _named(device: str | Device) -> Device:
    """A device, wherever one is asked for by it or by any of its names."""
    from roofline.bench.named import named

    return named(device) if isinstance(device, str) else device


def device(name: str) -> Device:
    """A device by any of its names: its kept measurement where there is one, else its datasheet."""
    return _named(name)


def place(
    work: Ledger | Work,
    roof: Roof | Device | str,
    time_s: float | None = None,
    *,
    at: Resource = DRAM,
) -> Placement:
    """Put `work` under `roof`, or under the ceilings of a device, or its name, that are in force.

    time_s   how long it took, in seconds: then the placement has a `roof_fraction` and a `lost_s`
    at       the boundary that its bytes cross: DRAM, or nearer where a cache holds the data

    Raises BadInput for a time that is not positive and finite.
    """
    roof = roof if isinstance(roof, Roof) else _named(roof).in_force()
    return placement.place(work, roof, time_s, at=at)


def measure(quick: bool = False, device: str = "cpu") -> Device:
    """Measure the ceilings of this CPU, or of the GPU ``"cuda:N"``, and keep them.

    About a minute for a CPU and 80 s for a GPU; 10 to 15 and 15 to 20 s when `quick`.
    """
    from roofline.bench import cpu, gpu
    from roofline.devices.kept import keep
    from roofline.errors import NotFound

    kind, _, number = device.partition(":")
    if device != "cpu" and (kind != "cuda" or not (number or "0").isdecimal()):
        raise NotFound(f"no device {device!r} to measure; there is cpu, and cuda:N for GPU N")
    measured = cpu.measure(quick=quick) if device == "cpu" else gpu.measure(int(number or 0), quick)
    keep(measured)
    return measured


@contextmanager
def profile(
    warmup: int | None = None, *, counters: bool = False, levels: bool = False
) -> Iterator[Recording]:
    """Record the PyTorch work done inside the block.

    Call ``run.step()`` where one repetition ends; without it an optimizer's step ends one, and
    without that the whole block is one step.  `warmup` drops that many first steps.  The ceilings
    are the newest that were measured here (`measure`); without any there are times and no roof.

    With `counters`, bytes over an NVIDIA GPU's memory are sampled meanwhile, and with `levels` also
    what is asked of its L2.  Raises Missing where there is no NVIDIA driver.
    """
    from roofline import capture
    from roofline.bench.cpu import device_id
    from roofline.devices.kept import newest

    recording = Recording()
    recorder = capture.profile(
        device=newest(device_id()), warmup=warmup, counters=counters, levels=levels
    )
    recording._capture = recorder
    try:
        with recorder:
            yield recording
    finally:  # what was recorded before an exception is kept
        recording._run = recorder.result
