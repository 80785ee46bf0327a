"""What ``import roofline as rl`` offers: one short verb for each thing the command line does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from roofline import runfile
from roofline.device import Device
from roofline.placement import place
from roofline.runfile import Run

__all__ = ["Recording", "device", "load", "measure", "place", "profile"]


@dataclass(slots=True)
class Recording:
    """A run and what can be said of it; shows itself in a terminal and in a notebook."""

    _run: Run | None = None
    _capture: Any = field(default=None, repr=False)

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

    def save(self, path: str | Path) -> None:
        """Write the run file."""
        runfile.save(self.run, Path(path))

    def report(self, path: str | Path) -> None:
        """Write the offline page."""
        from roofline.report import html

        html.write(self.document(), Path(path))

    def show(self, by: str = "call") -> None:
        """Print the answer, the table and the findings."""
        from rich.console import Console

        from roofline.report.text import print_document

        print_document(self.document(by), Console(highlight=False))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from rich.console import Console

        from roofline.report.text import print_document

        console = Console(record=True, width=110, file=StringIO(), highlight=False)
        print_document(self.document(), console)
        plain = console.export_text(clear=False)
        return {"text/plain": plain, "text/html": console.export_html(inline_styles=True)}


def load(path: str | Path) -> Recording:
    """Read a saved run."""
    return Recording(runfile.load(Path(path)))


def device(name: str) -> Device:
    """A device by any of its names: its kept measurement where there is one, else its datasheet."""
    from roofline.devices import resolve

    return resolve(name)


def measure(quick: bool = False) -> Device:
    """Measure this CPU's ceilings (about a minute, 10 s when quick) and keep them."""
    from roofline.bench import cpu
    from roofline.devices.kept import keep

    measured = cpu.measure(quick=quick)
    keep(measured)
    return measured


@contextmanager
def profile(warmup: int | None = None) -> Iterator[Recording]:
    """Record the PyTorch work done inside the block.

    Call ``run.step()`` where one repetition ends; without it an optimizer's step ends one, and
    without that the whole block is one step.  `warmup` drops that many first steps.
    """
    from roofline import capture

    recording = Recording()
    with capture.profile(warmup=warmup) as recorder:
        recording._capture = recorder
        yield recording
    recording._run = recorder.result
