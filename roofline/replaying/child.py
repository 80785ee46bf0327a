"""A program in a process of its own, which the user interrupts as if it were the only one."""

import subprocess
from collections.abc import Sequence
from typing import TextIO


def run(command: Sequence[str], output: TextIO | int | None = None) -> int:
    """Run `command` to its end and return its exit code, as a shell would.

    Ctrl-C reaches the child by itself; this process waits until it has put its things in order.
    """
    with subprocess.Popen(command, stdout=output) as process:
        while True:
            try:
                code = process.wait()
            except KeyboardInterrupt:
                continue
            return code if code >= 0 else 128 - code
