"""A script under the recorder is the script under python: what it sees, says and returns."""

import json
import os
import signal
import time

import pytest

from roofline.capture.script.ending import TOGETHER_S

SEES = """
import os, sys
import __main__
print(sys.argv, __name__, __file__, os.getcwd(), sys.path[0])
print(sorted(name for name in vars(__main__) if name != "__annotations__"))
print(__main__.__spec__, __main__.__doc__, sys.modules["__main__"] is __main__)
import beside  # from the script's own folder
print(beside.__name__)
if __name__ == "__main__":
    print("main")
"""

PICKLES = """
import pickle, dataclasses, multiprocessing
import torch

@dataclasses.dataclass
class Point:
    x: int

def square(x):
    return x * x

if __name__ == "__main__":
    print(pickle.loads(pickle.dumps(Point(3))))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(square, range(4)))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(square, range(4)))
    torch.ones(2).exp()
"""


def same(folder, script, *arguments):
    """Run both ways; require equal output and exit code; return the recorded one."""
    plain = folder.python(script, *arguments)
    recorded = folder.roofline("run", "--quiet", script, *arguments)
    assert recorded.out == plain.out
    assert recorded.code == plain.code
    return plain, recorded


def test_a_script_sees_what_it_would_see(folder):
    folder.write("beside.py", "")
    folder.write("sees.py", SEES)
    same(folder, "sees.py", "--steps", "3", "-o", "x", "--json", "--help", "--", "a b")


def test_a_script_in_another_folder(folder):
    (folder.path / "inner").mkdir()
    folder.write("inner/beside.py", "")
    folder.write("inner/sees.py", SEES)
    same(folder, "inner/sees.py")
    same(folder, "inner/../inner/sees.py")
    same(folder, str(folder.path / "inner" / "sees.py"))


def test_pickles_and_child_processes_find_the_script(folder):
    folder.write("pickles.py", PICKLES)
    same(folder, "pickles.py")
    run = folder.run("pickles.roof")
    assert {g.name for g in run.gaps} == {"process worker"}


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(-1)", 255),
        ("sys.exit()", 0),
        ("raise SystemExit", 0),
        ("1 / 0", 1),
    ],
)
def test_exit_codes(folder, ending, code):
    folder.write("ends.py", f"import sys\n{ending}\n")
    plain, recorded = same(folder, "ends.py")
    assert plain.code == code
    assert recorded.err == plain.err


@pytest.mark.parametrize(("ending", "code"), [("sys.exit(3)", 3), ("sys.exit('words')", 1)])
def test_what_was_recorded_until_the_exit_is_kept(folder, ending, code):
    folder.write("ends.py", f"import sys, torch\ntorch.ones(2).exp()\n{ending}\n")
    plain, recorded = same(folder, "ends.py")
    assert plain.code == code
    assert recorded.err == plain.err
    run = folder.run("ends.roof")
    assert run.recorder.exit_code == code
    assert run.events.num_rows == 2


def test_an_exception_is_shown_without_the_recorder_s_frames(folder):
    text = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return torch.mm(x, x)

def outer():
    try:
        Net()(torch.ones(2, 3))
    except RuntimeError as error:
        raise ValueError("no good") from error

outer()
"""
    folder.write("fails.py", text)
    plain, recorded = same(folder, "fails.py")
    assert "ValueError: no good" in plain.err
    assert recorded.err == plain.err
    assert folder.run("fails.roof").recorder.exit_code == 1


def test_a_hook_for_exceptions_is_called(folder):
    folder.write(
        "hook.py",
        "import sys, torch\n"
        "sys.excepthook = lambda kind, error, trace: print('hook', kind.__name__)\n"
        "torch.ones(2).exp()\nraise KeyError('x')\n",
    )
    same(folder, "hook.py")


def test_a_syntax_error_is_shown_as_python_shows_it(folder):
    folder.write("broken.py", "import torch\nprint('never')\ndef f(:\n")
    plain, recorded = same(folder, "broken.py")
    assert recorded.code == 1
    assert recorded.err == plain.err
    assert not (folder.path / "broken.roof").exists()


def test_exit_handlers_and_threads_end_as_they_would(folder):
    folder.write(
        "late.py",
        "import atexit, threading, time, torch\n"
        "atexit.register(print, 'handler')\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\n"
        "torch.ones(2).exp()\nprint('end')\n",
    )
    same(folder, "late.py")


def test_a_pool_that_was_never_shut_down_ends_as_it_would(folder):
    # Its thread waits for more work until it is told, at the end, that there will be none.
    folder.write(
        "pool.py",
        "import time, torch\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(1)\n"
        "pool.submit(lambda: (time.sleep(0.2), print('pooled')))\n"
        "torch.ones(2).exp()\nprint('end')\n",
    )
    same(folder, "pool.py")
    assert folder.run("pool.roof").recorder.exit_code == 0


def test_a_script_that_forks_saves_one_run(folder):
    folder.write(
        "forks.py",
        "import os, torch\n"
        "pid = os.fork()\n"
        "torch.ones(2).exp()\n"
        "if pid == 0:\n    raise SystemExit(5)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n",
    )
    same(folder, "forks.py")
    assert folder.run("forks.roof").recorder.exit_code == 0


def test_what_a_script_sets_before_it_imports_torch_counts(folder):
    folder.write(
        "early.py",
        "import os, sys\n"
        "assert 'torch' not in sys.modules\n"
        "os.environ['OMP_NUM_THREADS'] = '3'\n"
        "import torch\nprint(torch.get_num_threads())\ntorch.ones(2).exp()\n",
    )
    plain, _ = same(folder, "early.py")
    assert folder.run("early.roof").recorder.threads == int(plain.out)


def test_a_script_without_torch_is_fine(folder):
    folder.write("plain.py", "import sys\nprint('torch' in sys.modules)\nsys.exit(4)\n")
    same(folder, "plain.py")
    recorded = folder.roofline("run", "plain.py")
    assert recorded.err == "roofline: plain.py called no PyTorch operator; nothing to save\n"
    assert not (folder.path / "plain.roof").exists()
    document = json.loads(folder.roofline("run", "--json", "plain.py").out)
    assert (document["schema"], document["coverage"]) == ("roofline.placement/1", None)
    assert (document["items"], document["findings"]) == ([], [])


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("end", ["sys.{0}.close()", "sys.{0} = None"])
def test_a_script_may_do_away_with_its_streams(folder, stream, end):
    folder.write("ends.py", f"import sys, torch\ntorch.ones(2).exp()\n{end.format(stream)}\n")
    plain, recorded = folder.python("ends.py"), folder.roofline("run", "ends.py")
    assert (plain.code, plain.err) == (recorded.code, recorded.err.partition("roofline: ")[0])
    assert folder.run("ends.roof").signatures


@pytest.mark.parametrize(
    ("option", "needed"),
    [("--kernels=3", "--deep"), ("--levels", "--counters"), ("--sample-us=2", "--counters")],
)
def test_an_option_without_the_one_it_goes_with_is_refused(folder, option, needed):
    folder.write("plain.py", "")
    ended = folder.roofline("run", option, "plain.py")
    assert ended.code == 2
    assert ended.err == f"roofline: {option.partition('=')[0]} goes with {needed}\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [("absent.py", "no script absent.py"), (".", "is a directory; name the Python file to run")],
)
def test_no_script_is_one_sentence(folder, name, words):
    ended = folder.roofline("run", name)
    assert ended.code == 2
    assert ended.out == ""
    assert words in ended.err
    assert ended.err.count("\n") == 1


def test_where_the_run_goes(folder):
    folder.write(
        "moves.py", "import os, torch\nos.makedirs('there')\nos.chdir('there')\ntorch.ones(2)\n"
    )
    assert folder.roofline("run", "--quiet", "moves.py").code == 0
    assert folder.run("moves.roof").recorder.program == "moves.py"
    (folder.path / "there").rmdir()
    assert folder.roofline("run", "--quiet", "-o", "named.roof", "moves.py").code == 0
    assert folder.run("named.roof").events.num_rows == 1


def test_a_folder_that_is_not_there_is_said_before_the_script_runs(folder):
    folder.write("runs.py", "print('ran')\n")
    ended = folder.roofline("run", "-o", "no/where.roof", "runs.py")
    assert (ended.code, ended.out) == (2, "")
    assert "there is no folder" in ended.err


def test_a_full_disk_keeps_the_earlier_run(folder):
    # A limit on the size of files is what a full disk is to the writer.
    folder.write("works.py", "import torch\ntorch.ones(2)\n")
    assert folder.roofline("run", "--quiet", "works.py").code == 0
    before = (folder.path / "works.roof").read_bytes()
    folder.write(
        "works.py",
        "import resource, signal, torch\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "torch.ones(3)\n",
    )
    ended = folder.roofline("run", "--quiet", "works.py")
    assert ended.code == 2
    assert "cannot write" in ended.err
    assert "Traceback" not in ended.err
    assert (folder.path / "works.roof").read_bytes() == before
    assert sorted(p.name for p in folder.path.iterdir()) == ["works.py", "works.roof"]


def test_ctrl_c_keeps_what_was_recorded(folder):
    folder.write(
        "waits.py",
        "import time, torch\ntorch.ones(2).exp()\nprint('ready', flush=True)\ntime.sleep(60)\n",
    )
    ended = folder.signalled("waits.py", signal.SIGINT)
    assert ended.code == 130
    assert ended.err.rstrip().endswith("KeyboardInterrupt")
    assert "capture" not in ended.err
    assert folder.run("waits.roof").recorder.exit_code == 130


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)]
)
def test_a_signal_keeps_what_was_recorded_also_when_it_comes_twice(folder, sent, code):
    """As `timeout` sends it: to the process, and to its group."""
    folder.write(
        "waits.py",
        "import time, torch\ntorch.ones(2).exp()\nprint('ready', flush=True)\n"
        "try:\n    time.sleep(60)\nfinally:\n    time.sleep(0.2)\n    print('left', flush=True)\n",
    )
    ended = folder.signalled("waits.py", sent, signal.SIGTERM)
    assert (ended.code, ended.out, ended.err) == (code, "left\n", "")
    run = folder.run("waits.roof")
    assert run.recorder.exit_code == code
    assert run.events.num_rows == 2


TRAINS = """
import sys, time, torch
weight = torch.nn.Parameter(torch.ones(4, 4))
optimizer = torch.optim.SGD([weight], lr=0.01)
for step in range(int(sys.argv[1])):
    weight.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_the_run_is_written_when_its_steps_are_recorded_and_the_script_goes_on(folder):
    folder.write("trains.py", f"{TRAINS}print('ready', flush=True)\ntime.sleep(60)\n")
    process = folder.start("--steps", "2", "trains.py", "9")
    assert process.stdout.readline() == "ready\n"
    written = folder.run("trains.roof")
    process.kill()  # no chance to save: it is saved
    _, err = process.communicate(timeout=60)

    assert [step.warmup for step in written.steps] == [True, False, False]
    assert written.recorder.exit_code is None
    assert "recorded: wrote trains.roof; trains.py goes on without" in err


def test_the_run_is_written_in_the_midst_of_a_mode_of_the_program_s_own_which_sees_nothing_of_it(
    folder,
):
    """One that counts, say; it lies over the recorder's, which can't leave yet."""
    training = TRAINS.replace("\n", "\n    ")
    folder.write(
        "counts.py",
        "import os, signal, torch\n"
        "from torch.utils._python_dispatch import TorchDispatchMode\n"
        "class Counts(TorchDispatchMode):\n"
        "    seen = []\n"
        "    def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
        "        self.seen.append(str(func))\n"
        "        return func(*args, **(kwargs or {}))\n"
        f"with Counts():{training}\n"
        "    print(Counts.seen, flush=True)\n"
        "    if len(sys.argv) > 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "print(torch.ones(2).exp())\n",
    )
    plain = folder.python("counts.py", "5")
    killed = folder.roofline("run", "--steps", "2", "counts.py", "5", "now")

    assert killed.code == -signal.SIGKILL
    assert killed.out in plain.out
    assert "aten.sum" in killed.out
    assert "recorded: wrote counts.roof; counts.py goes on without" in killed.err
    assert [step.warmup for step in folder.run("counts.roof").steps] == [True, False, False]


def test_a_pipe_gets_one_run_at_the_end(folder):
    """It is no place to take: what is written early would stand before the rest."""
    folder.write("trains.py", TRAINS)
    pipe = folder.path / "pipe"
    os.mkfifo(pipe)
    process = folder.start("--steps", "2", "-o", "pipe", "trains.py", "9")
    try:
        (folder.path / "read.roof").write_bytes(pipe.read_bytes())
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()

    run = folder.run("read.roof")
    assert (run.recorder.exit_code, len(run.steps)) == (0, 3)
    assert "recorded; pipe is no file, it gets the run when trains.py ends" in err


def test_the_answer_and_the_exit_code_follow_at_the_end(folder):
    folder.write("trains.py", f"{TRAINS}print('end', flush=True)\nsys.exit(3)\n")
    ended = folder.roofline("run", "--steps", "2", "trains.py", "9")

    assert ended.code == 3
    assert ended.out.index("end\n") < ended.out.index("coverage")
    run = folder.run("trains.roof")
    assert (run.recorder.exit_code, len(run.steps)) == (3, 3)


def test_a_run_that_cannot_be_written_yet_does_not_end_the_script(folder):
    text = "import os\n" + TRAINS + "os.chmod('.', 0o755)\nprint('end')\n"
    folder.write("trains.py", text)
    (folder.path / "there").mkdir()
    folder.write("moves.py", "import os\nos.rmdir('there')\n" + TRAINS + "os.mkdir('there')\n")
    ended = folder.roofline("run", "--steps", "2", "-o", "there/its.roof", "moves.py", "9")

    assert ended.code == 0
    assert "trying again when moves.py ends" in ended.err
    assert len(folder.run("there/its.roof").steps) == 3


def test_a_second_request_ends_a_script_that_caught_the_first(folder, monkeypatch):
    monkeypatch.setitem(folder.environment, "PYTHONUNBUFFERED", "1")
    folder.write(
        "catches.py",
        "import time, torch\ntorch.ones(2).exp()\n"
        "try:\n    print('ready')\n    time.sleep(60)\nexcept BaseException:\n    print('caught')\ntime.sleep(60)\n",
    )
    process = folder.start("--quiet", "catches.py")
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "caught\n"
    time.sleep(TOGETHER_S)
    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=60) == 143
    assert folder.run("catches.roof").recorder.exit_code == 143


def test_a_script_s_own_answer_to_sigterm_is_the_answer(folder):
    folder.write(
        "answers.py",
        "import signal, sys, time, torch\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
        "torch.ones(2).exp()\nprint('ready', flush=True)\ntime.sleep(60)\n",
    )
    assert folder.signalled("answers.py", signal.SIGTERM).code == 9
    assert folder.run("answers.roof").recorder.exit_code == 9


def test_a_child_of_the_script_dies_of_sigterm(folder):
    folder.write(
        "parent.py",
        "import multiprocessing, time, torch\n"
        "torch.ones(2).exp()\n"
        "child = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))\n"
        "child.start()\ntime.sleep(0.2)\nchild.terminate()\nchild.join()\nprint(child.exitcode)\n",
    )
    plain, _ = same(folder, "parent.py")
    assert plain.out == "-15\n"


def test_os_exit_keeps_what_was_recorded_and_leaves_at_once(folder):
    folder.write(
        "leaves.py",
        "import os, torch\ntorch.ones(2).exp()\n"
        "try:\n    os._exit(7)\nfinally:\n    print('never', flush=True)\n",
    )
    plain, recorded = same(folder, "leaves.py")
    assert (plain.code, recorded.err) == (7, "")
    run = folder.run("leaves.roof")
    assert (run.recorder.exit_code, run.events.num_rows) == (7, 2)


def test_os_exit_of_another_thread_loses_the_recording_and_says_so(folder):
    folder.write(
        "watched.py",
        "import os, threading, time, torch\ntorch.ones(2).exp()\n"
        "threading.Thread(target=os._exit, args=(3,)).start()\ntime.sleep(60)\n",
    )
    _, recorded = same(folder, "watched.py")
    assert "the recording is lost" in recorded.err
    assert not (folder.path / "watched.roof").exists()


def test_nobody_reads_the_answer_and_the_script_s_code_stays(folder):
    folder.write("ends.py", "import sys, torch\ntorch.ones(2).exp()\nsys.exit(3)\n")
    process = folder.start("ends.py")
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 3
    assert err == "roofline: wrote ends.roof\n"


NOISY = """
import os, sys, torch
print("python level")
os.write(1, b"system level\\n")
os.system("echo child process")
torch.ones(64, 64).exp()
import atexit
atexit.register(print, "at exit")
"""


def test_json_is_alone_on_standard_output(folder):
    folder.write("noisy.py", NOISY)
    ended = folder.roofline("run", "--json", "noisy.py")
    assert ended.code == 0
    document = json.loads(ended.out)
    assert document["schema"] == "roofline.placement/1"
    for words in ("python level", "system level", "child process", "at exit"):
        assert words in ended.err


def test_text_goes_where_the_script_s_output_does_not_lead_it(folder):
    folder.write(
        "closes.py",
        "import sys, os, torch\ntorch.ones(9).exp()\nsys.stdout = open(os.devnull, 'w')\n",
    )
    ended = folder.roofline("run", "closes.py")
    assert ended.code == 0
    assert "coverage" in ended.out


def test_options_after_the_script_are_the_script_s(folder):
    folder.write("options.py", "import sys, torch\ntorch.ones(2).exp()\nprint(sys.argv[1:])\n")
    ended = folder.roofline("run", "--quiet", "--warmup", "0", "options.py", "--warmup", "9")
    assert ended.out == "['--warmup', '9']\n"


def test_the_run_names_the_measured_device_and_nothing_of_the_user(folder):
    folder.write("small.py", "import torch\ntorch.ones(2).exp()\n")
    folder.roofline("run", "--quiet", "small.py", str(folder.path))
    run = folder.run("small.roof")
    assert run.device.name == "a test's CPU"
    raw = (folder.path / "small.roof").read_bytes()
    assert str(folder.path).encode() not in raw
    assert os.fsencode(os.environ.get("HOME", "/nowhere")) not in raw


def test_examples_run_plainly_and_recorded(folder):
    examples = os.path.join(os.path.dirname(__file__), "..", "..", "examples")
    for name, *arguments in (
        ("layernorm.py", "64", "64", "2"),
        ("transformer_train.py", "--steps", "3", "--batch", "2", "--length", "16", "--width", "64"),
        ("decode.py", "--tokens", "4", "--prompt", "8", "--width", "64", "--layers", "1"),
    ):
        script = os.path.join(examples, name)
        assert folder.python(script, *arguments).code == 0
        ended = folder.roofline("run", script, *arguments)
        assert ended.code == 0, ended.err
        run = folder.run(name.replace(".py", ".roof"))
        assert {n for s in run.signatures for n in s.ledger.unaccounted} == set()
