"""A program in a process of its own, which the user stops as if it were the only one."""

import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO


def run(command: Sequence[str], output: TextIO | int | None = None) -> int:
    """Run `command` to its end and return its exit code, as a shell would.

    Ctrl-C reaches the child by itself and SIGTERM is handed on; this process waits until the child
    has put its things in order.
    """
    with subprocess.Popen(command, stdout=output) as process, _handed_on(process):
        while True:
            try:
                code = process.wait()
            except KeyboardInterrupt:
                continue
            return code if code >= 0 else 128 - code


@contextmanager
def _handed_on(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
