"""``roofline run --counters`` and ``rl.profile(counters=True)`` where there is no GPU to ask."""

import ctypes

import pytest

import roofline as rl
from roofline.capture.recording import Recording
from roofline.cli import main, run
from roofline.errors import Missing


@pytest.fixture
def driver(monkeypatch):
    """Calls the NVIDIA driver there or not."""
    real = ctypes.CDLL

    def make(there):
        def load(name, *args, **kwargs):
            if name != "libcuda.so.1":
                return real(name, *args, **kwargs)
            if not there:
                raise OSError(name)
            return None

        monkeypatch.setattr(ctypes, "CDLL", load)

    return make


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text("import torch\ntorch.ones(4).exp()\n")
    return "program.py"


def test_without_a_driver_it_is_refused_before_the_script_runs(driver, script, capsys, tmp_path):
    driver(there=False)
    assert main(["run", "--counters", script]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "there is no NVIDIA driver here (libcuda.so.1)" in said
    assert not (tmp_path / "program.roof").exists()


def test_sampling_and_replaying_are_not_done_at_once(driver, script, capsys):
    driver(there=True)
    assert main(["run", "--counters", "--deep", script]) == 2
    assert "give one of the two" in capsys.readouterr().err


def test_options_reach_the_sampler(driver, script, monkeypatch):
    driver(there=True)
    samplers = []

    class Watched(Recording):
        def __init__(self, *, sampler, **others):
            samplers.append(sampler)
            super().__init__(sampler=sampler, **others)

    monkeypatch.setattr("roofline.capture.recording.Recording", Watched)
    monkeypatch.setattr(run, "_this_cpu", lambda quiet: None)

    def started(script, arguments, start, finish):
        start()
        return 0

    monkeypatch.setattr(run, "run_script", started)
    assert main(["run", "--counters", "--levels", "--sample-us", "5", script]) == 0
    assert main(["run", script]) == 0
    sampler, none = samplers
    assert (sampler.interval_ns, none) == (5000, None)
    assert sampler.metrics[-1] == "lts__t_sectors_srcunit_tex.sum"


def test_the_library_refuses_in_the_same_words(driver):
    driver(there=False)
    with pytest.raises(Missing, match="no NVIDIA driver"), rl.profile(counters=True):
        pass
