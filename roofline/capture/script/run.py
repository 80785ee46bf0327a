"""Runs a Python file as `python FILE ARGS` would, and records what it does with PyTorch.

The recording starts at the moment the file imports PyTorch, so that what it sets before (thread
counts, devices, logging) still has its effect, and a file that never does costs nothing.
"""

import builtins
import io
import os
import sys
import threading
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.machinery import SourceFileLoader
from types import TracebackType
from typing import TYPE_CHECKING

from roofline import capture
from roofline.capture.imports import WhenImported
from roofline.capture.script.ending import Ending
from roofline.errors import BadInput

if TYPE_CHECKING:
    from roofline.capture.recording import Recording
    from roofline.runfile import Run

INTERRUPTED = 130  # what a shell shows for a program ended by Ctrl-C
_OURS = os.path.dirname(capture.__file__) + os.sep
_OPERATORS = os.path.join("torch", "_ops.py")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a script ended, and what was recorded until then."""

    exit_code: int
    run: "Run | None"  # None: it never imported PyTorch


def check(script: str) -> None:
    """Raise BadInput, in one sentence, when there is no file to run."""
    if os.path.isdir(script):
        raise BadInput(f"{script} is a directory; name the Python file to run")
    if not os.path.exists(script):
        raise BadInput(f"no script {script}")
    if not os.access(script, os.R_OK):
        raise BadInput(f"{script} cannot be read")


def run_script(
    script: str,
    arguments: Sequence[str],
    start: "Callable[[], Recording]",
    finish: Callable[[Outcome], None],
) -> int:
    """Run `script`, hand what was recorded to `finish`, and return the script's exit code.

    `start` makes the recording, and is called when PyTorch is imported.  Exceptions are shown as
    Python shows them and turned into the exit code it would give.  The process is the script's
    from here on: its argv, its `__main__`, its path.
    """
    check(script)
    recordings: list[Recording] = []

    def begin(_: types.ModuleType) -> None:
        recordings.append(start())
        recordings[0].__enter__()

    parent = os.getpid()
    name = _become(script, arguments)
    with Ending(lambda code: finish(_outcome(recordings, code))) as ending:
        with WhenImported("torch", begin):
            code = _exit_code(lambda: _execute(name))
        if os.getpid() != parent:
            raise SystemExit(code)  # the script forked, and this is the other one
        ending.finish(code)
    return code


def _outcome(recordings: "Sequence[Recording]", code: int) -> Outcome:
    if not recordings:
        return Outcome(code, None)
    recordings[0].__exit__()
    run = recordings[0].result
    return Outcome(code, replace(run, recorder=replace(run.recorder, exit_code=code)))


def _become(script: str, arguments: Sequence[str]) -> str:
    """Make this process the script's, and return the file's name as Python would give it."""
    # Absolute, but otherwise as it was written.
    name = os.path.join(os.getcwd(), script)
    main = types.ModuleType("__main__")
    main.__file__ = name
    main.__loader__ = SourceFileLoader("__main__", name)
    main.__builtins__ = builtins  # type: ignore[attr-defined]
    main.__cached__ = None  # type: ignore[attr-defined]
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    sys.argv[:] = [script, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    return name


def _execute(name: str) -> None:
    with io.open_code(name) as file:
        code = compile(file.read(), name, "exec", dont_inherit=True)
    exec(code, sys.modules["__main__"].__dict__)


def _exit_code(work: Callable[[], None]) -> int:
    """What Python's exit code would be after `work`; errors are printed as it prints them."""
    try:
        work()
        _wait_for_threads()
        return 0
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        sys.stderr.write(f"{stop.code}\n")
        return 1
    except KeyboardInterrupt as error:
        _show(error)
        return INTERRUPTED
    except BaseException as error:
        _show(error)
        return 1


def _wait_for_threads() -> None:
    """Let the script's threads end, as Python does before it ends itself.

    Threads of a pool (torch.compile keeps some) wait for more work until they are told that none
    will come: Python tells them by these calls, each once, the newest first.
    """
    calls: list[Callable[[], None]] = threading._threading_atexits  # type: ignore[attr-defined]
    while calls:
        calls.pop()()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _show(error: BaseException) -> None:
    forget_ours(error)
    _flush()
    sys.excepthook(type(error), error, error.__traceback__)
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # the script's own, or closed by it
            stream.flush()


def forget_ours(error: BaseException | None) -> None:
    """Take the recorder's own frames out of the tracebacks of an exception and its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = _without_ours(error.__traceback__)
        error = error.__cause__ or error.__context__


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    kept, after_ours = [], False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        # Where PyTorch would have called the operator itself, we call it through its Python form.
        ours = file.startswith(_OURS) or (after_ours and file.endswith(_OPERATORS))
        if not ours:
            kept.append(trace)
        after_ours, trace = ours, trace.tb_next
    following: TracebackType | None = None
    for trace in reversed(kept):
        trace.tb_next = following
        following = trace
    return following
