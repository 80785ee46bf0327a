"""What starting costs: CPU time of the command line beside Python's own and torch's.

    python benchmarks/startup.py

Every command runs in a fresh process, all of them in turn, round after round, so that a busy
machine disturbs them alike; user + system time is taken, not wall time.  The whole is done twice:
where the two medians differ, believe neither to more digits than they share.
"""

import resource
import statistics
import subprocess
import sys

ROUNDS = 15
GEMM = "'gemm', 'm=1', 'n=4096', 'k=4096', 'dtype=fp16'"
STATED = "'--compute', '120 TFLOP/s', '--bandwidth', '2 TB/s'"
COMMANDS = {
    "python -c pass": "pass",
    "import roofline": "import roofline",
    "roofline --help": "from roofline.cli import main; main(['--help'])",
    "roofline op gemm": f"from roofline.cli import main; main(['op', {GEMM}, {STATED}])",
    "  on a device": f"from roofline.cli import main; main(['op', {GEMM}, '--device', 'h200'])",
    "  --json": f"from roofline.cli import main; main(['op', {GEMM}, {STATED}, '--json'])",
    "import torch": "import torch",
}
GOALS_S = {"import roofline": 0.1, "roofline op gemm": 0.2}


def cpu_seconds(code: str) -> float:
    """User and system time of one fresh interpreter that runs `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def medians() -> dict[str, float]:
    """Median CPU seconds of every command."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, code in COMMANDS.items():
            taken[name].append(cpu_seconds(code))
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def main() -> None:
    """Print both passes as milliseconds, and as ratios to an empty Python and to torch."""
    for code in COMMANDS.values():
        cpu_seconds(code)  # files come from the disk once
    first, second = medians(), medians()
    print(f"CPU time in ms, medians of {ROUNDS} fresh processes, two passes")
    print(f"{'':18}{'pass 1':>8}{'pass 2':>8}{'x python':>10}{'of torch':>10}  goal")
    for name in COMMANDS:
        python = second[name] / second["python -c pass"]
        torch = second[name] / second["import torch"]
        goal = f"under {GOALS_S[name] * 1e3:.0f}" if name in GOALS_S else ""
        print(
            f"{name:18}{first[name] * 1e3:8.0f}{second[name] * 1e3:8.0f}"
            f"{python:10.1f}{torch:10.2f}  {goal}".rstrip()
        )


if __name__ == "__main__":
    main()
