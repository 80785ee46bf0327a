"""NVTX ranges: what was pushed around a launch says its module and its step."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

PUSH_POP = 59  # eventType; others are marks, ranges across threads and categories
STEP = re.compile(r"(?:\w+[ _-])?(?:step|iter|iteration|batch)[ _#:=-]*\d+", re.IGNORECASE)

# thread, start, end, text
Range = tuple[int, int, int, str]


@dataclass(slots=True)
class Timeline:
    """What holds on each thread from each moment on: a number of `paths`."""

    thread: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    paths: list[str] = field(default_factory=lambda: [""])
    steps: list[Range] = field(default_factory=list)


def timeline(ranges: Iterable[Range]) -> Timeline:
    """Nest the ranges of every thread; ranges named like steps are steps and no part of a path."""
    found = Timeline()
    numbers = {"": 0}
    stack: list[tuple[int, str]] = []  # end, path
    current: int | None = None

    def enter(thread: int, time: int, path: str) -> None:
        number = numbers.setdefault(path, len(numbers))
        if number == len(found.paths):
            found.paths.append(path)
        found.thread.append(thread)
        found.time.append(time)
        found.path.append(number)

    def leave(thread: int, until: int | None) -> None:
        while stack and (until is None or stack[-1][0] <= until):
            end, _ = stack.pop()
            enter(thread, end, stack[-1][1] if stack else "")

    for thread, start, end, text in sorted(ranges, key=lambda r: (r[0], r[1], -r[2])):
        if thread != current and current is not None:
            leave(current, None)
        current = thread
        leave(thread, start)
        around = stack[-1][1] if stack else ""
        if STEP.fullmatch(text):
            found.steps.append((thread, start, end, text))
            path = around
        else:
            path = f"{around}.{text}" if around else text
        # A range that outlasts the one around it was not nested: it ends there.
        stack.append((min(end, stack[-1][0]) if stack else end, path))
        enter(thread, start, path)
    if current is not None:
        leave(current, None)
    return found


def divided(steps: Iterable[Range]) -> list[Range]:
    """Steps one after the other, of the thread that has most; [] where there are fewer than two."""
    by_thread: dict[int, list[Range]] = {}
    for step in steps:
        by_thread.setdefault(step[0], []).append(step)
    most = max(by_thread.values(), key=len, default=[])
    most.sort(key=lambda step: step[1])
    apart = all(step[2] <= after[1] for step, after in pairwise(most))
    return most if len(most) > 1 and apart else []
