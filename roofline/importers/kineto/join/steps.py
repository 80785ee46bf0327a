"""Where one repetition of the program's work ends, as far as the trace says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.windows import window_of
from roofline.runfile import Step
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Cut:
    """Windows of time on the host; work belongs to the window in which it was started."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    names: tuple[str, ...]
    how: str  # in words

    def of(self, times: "pa.Array") -> "pa.Array":
        """The window that each of `times` falls into; -1 outside all of them and for null."""
        return window_of(times, self.starts, self.ends)


Window = tuple[int, int, str]  # start, end [ns], name


def cut(annotated: Sequence[Window], optimizer: Sequence[Window], whole: Window) -> Cut:
    """Divide by the profiler's own step annotations; else at the end of each optimizer step, where
    there are several; else not at all.
    """
    if annotated:
        return _cut(
            annotated, f"{number_of(len(annotated), 'step')}, as the profiler's schedule marks them"
        )
    ends = sorted({end for _, end, _ in optimizer})
    if len(ends) > 1:
        starts = [whole[0], *ends]
        windows = [(s, e, "") for s, e in zip(starts, ends, strict=False)]
        return _cut(windows, f"{len(ends)} steps, ending at each Optimizer.step")
    return _cut([whole], "one step: the trace marks none")


def used(windows: Sequence[Window], begun: "pa.Array") -> list[Window]:
    """The windows in which something began: a recording may end just inside its last step."""
    if not windows:
        return []
    windows = sorted({start: (start, end, name) for start, end, name in windows}.values())
    busy = set(_cut(windows, "").of(begun).unique().to_pylist())
    return [window for at, window in enumerate(windows) if at in busy]


def _cut(windows: Sequence[Window], how: str) -> Cut:
    starts, ends, names = zip(*windows, strict=True)
    # A window ends where the next begins, should the two overlap.
    ends = tuple(min(e, n) for e, n in zip(ends, (*starts[1:], max(ends)), strict=True))
    return Cut(starts, ends, names, how)


def measured(cut: Cut, done: int, origin: int) -> tuple[Step, ...]:
    """The steps, times counted from `origin`; `done` is when the device finished its last work.

    Only the last step waits for the device: before that the device works on one step while the
    host already starts the next.
    """
    ends = (*cut.ends[:-1], max(cut.ends[-1], done))
    return tuple(
        Step(start_ns=start - origin, duration_ns=end - start, name=name)
        for start, end, name in zip(cut.starts, ends, cut.names, strict=True)
    )
