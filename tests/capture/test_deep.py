"""`roofline run --deep` and `--against` with real scripts, on a CPU: there is nothing to replay."""

from roofline.runfile import load

SCRIPT = """
import sys, torch
x = torch.ones(64, 64)
for _ in range(2):
    x = x @ x
print("said", sys.argv[1:])
sys.exit(5)
"""


def test_the_script_runs_once_and_its_exit_code_is_kept(folder):
    folder.write("toy.py", SCRIPT)
    ended = folder.roofline("run", "--deep", "toy.py", "a", "-b")

    assert ended.code == 5
    assert ended.out.count("said ['a', '-b']") == 1
    assert "this is the timeline alone: no kernel ran on a GPU" in " ".join(ended.out.split())
    assert load(folder.path / "toy.roof").recorder.exit_code == 5


def test_two_runs_are_held_against_each_other(folder):
    folder.write("toy.py", SCRIPT)
    first = folder.roofline("run", "--quiet", "-o", "first.roof", "toy.py")
    second = folder.roofline("run", "--against", "first.roof", "toy.py")

    assert (first.code, second.code) == (5, 5)
    assert "\nagainst 2" in second.out
    assert " -> " in second.out.partition("\nagainst 2")[2]


def test_against_what_is_not_there_nothing_runs(folder):
    folder.write("toy.py", SCRIPT)
    ended = folder.roofline("run", "--against", "absent.roof", "toy.py")

    assert ended.code == 2
    assert ended.out == ""
    assert ended.err == "roofline: no run file absent.roof\n"
