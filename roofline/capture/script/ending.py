"""Ends of a script that would take its recording along: SIGTERM, SIGHUP, SIGQUIT, `os._exit`.

SIGTERM (a job's time limit, `kill`, `timeout`), SIGHUP (the terminal is gone) and SIGQUIT (a key of
the terminal, like Ctrl-C) end the script where it stands, as Ctrl-C does, so that its recording can
be saved; the exit code is what a shell shows for it.  `os._exit`, with which some programs end
themselves, saves first.  SIGKILL and a crash in native code leave no chance.
"""

import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Any, NoReturn, Self

from roofline.errors import RooflineError

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
TOGETHER_S = 2.0  # within which signals are one request
SHOWN = 128  # a shell shows a signal as this much more than its number


class Ending:
    """While it is entered, `finish` is called with the exit code before the script's process ends.

    Signals soon after the first, and while `finish` runs, are ignored: `timeout` and job managers
    send several.  One that comes later ends a script that caught the first and went on.  A
    script's own handler takes the place of this one, and what is ignored from the start (nohup)
    stays ignored.
    """

    def __init__(self, finish: Callable[[int], None]):
        self._save = finish
        self._process = os.getpid()
        self._exit_now: Callable[[int], NoReturn] = os._exit
        self._handled: list[signal.Signals] = []
        self._terminated_s: float | None = None  # when the script was last told to end
        self._finished = False

    def __enter__(self) -> Self:
        for number in SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._terminate)
                self._handled.append(number)
        os.register_at_fork(after_in_child=_dies_as_it_would(weakref.ref(self)))
        os._exit = self._exit
        return self

    def __exit__(self, *_: object) -> None:
        os._exit = self._exit_now  # type: ignore[assignment]
        self.let_go()

    def let_go(self) -> None:
        """Leave the signals to what they do by themselves."""
        for number in self._handled:
            if signal.getsignal(number) == self._terminate:
                signal.signal(number, signal.SIG_DFL)

    def finish(self, code: int) -> None:
        """Save what was recorded; the script is over."""
        self._finished = True
        self._save(code)

    def _terminate(self, number: int, _: FrameType | None) -> None:
        now_s, last_s = monotonic(), self._terminated_s
        if self._finished or (last_s is not None and now_s - last_s < TOGETHER_S):
            return
        self._terminated_s = now_s
        raise SystemExit(SHOWN + number)

    def _exit(self, status: Any) -> NoReturn:
        try:
            if os.getpid() == self._process and not self._finished:
                self._finish_now(int(status) & 0xFF)
        except RooflineError as error:
            sys.stderr.write(f"roofline: {error}\n")
            status = error.exit_code
        finally:
            self._exit_now(status)

    def _finish_now(self, code: int) -> None:
        if threading.current_thread() is threading.main_thread():
            self.finish(code)
        else:  # the recorder is in the first thread's hands
            said = "the recording is lost: os._exit was called in another thread than the first"
            sys.stderr.write(f"roofline: {said}\n")


def _dies_as_it_would(ending: "weakref.ref[Ending]") -> Callable[[], None]:
    """What a forked child does first: whoever ends it expects it to die of the signal."""

    def restore() -> None:
        inherited = ending()
        if inherited is not None:
            inherited.let_go()

    return restore
