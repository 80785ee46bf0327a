"""``roofline doctor``: a machine described, and known answers that can come out wrong."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from roofline import ops
from roofline.bench.cpu import host
from roofline.cli import doctor as doctor_command
from roofline.cli import main
from roofline.cli.doctor import answers, machine
from roofline.device import VECTOR_FP32, Ceiling, Device, Variant
from roofline.devices import kept
from roofline.provenance import Basis, Provenance
from roofline.work import unknown

KEPT_RATE = 100e9  # flop/s


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[int, dict[str, Any], str]]:
    """Run it with --json: exit code, document, standard error."""

    def run() -> tuple[int, dict[str, Any], str]:
        code = main(["doctor", "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out), said.err

    return run


def keep_ceiling(note: str = "", threads: tuple[int, ...] = (1, 8)) -> None:
    measured = Provenance(basis=Basis.MEASURED, source="a test", as_of=date(2026, 1, 2))
    kept.keep(
        Device(
            id=host.device_id(), name="this", kind="cpu",
            note=note,
            ceilings=tuple(
                Ceiling(
                    resource=VECTOR_FP32, rate=n * KEPT_RATE, variant=Variant(threads=n),
                    provenance=measured,
                )
                for n in threads
            ),
        )
    )  # fmt: skip


def test_the_document(doctor: Callable[[], tuple[int, dict[str, Any], str]]) -> None:
    code, document, said = doctor()
    assert (code, said) == (0, "")
    assert document["schema"] == "roofline.doctor/1"
    assert document["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
    assert document["torch"]["version"] == metadata.version("torch")
    assert document["torch"]["devices"][0] == "cpu"
    assert document["ceilings"] == []
    assert [a["name"] for a in document["known_answers"]] == ["model", "rule", "ceiling"]
    assert [a["status"] for a in document["known_answers"]] == ["ok", "ok", "unknown"]
    # (1*4096 + 4096*4096 + 1*4096) * 2 B / 2e12 B/s
    assert document["known_answers"][0]["got"] == {"roof_s": 33_570_816 / 2e12}
    # 2*4*16*8 + 4*16 flop; (4*8 + 8*16 + 4*16 + 16) * 4 B
    assert document["known_answers"][1]["got"] == {"flop": 1088, "bytes": 960}


def test_the_text_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for words in ("processor", host.cpu().model, "none measured", "unknown", "1.6785408e-05"):
        assert words in shown


def test_a_wrong_rule_fails_the_command(
    doctor: Callable[[], tuple[int, dict[str, Any], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "account", lambda call: unknown(call.op))
    code, document, said = doctor()
    assert code == 1
    assert said == "roofline: known answers came out wrong: rule\n"
    assert document["known_answers"][1]["status"] == "wrong"
    assert document["known_answers"][1]["got"] == {"flop": 0, "bytes": 0}


@pytest.mark.parametrize(
    ("now", "status"),
    [
        (KEPT_RATE, "ok"),
        (0.6 * KEPT_RATE, "ok"),  # others use the machine
        (KEPT_RATE / 8, "wrong"),  # bits for bytes, or eight threads for one
        (1000 * KEPT_RATE, "wrong"),  # a wrong prefix
        (None, "unknown"),  # no sample was undisturbed
    ],
)
def test_a_kept_ceiling_is_held_against_the_machine(
    monkeypatch: pytest.MonkeyPatch, now: float | None, status: str
) -> None:
    keep_ceiling()
    monkeypatch.setattr(answers, "_again", lambda: now)
    answer = answers.ceiling()
    assert answer.status == status
    # The ceiling of one thread, not the larger one of eight.
    assert answer.expected == ({} if now is None else {"rate": KEPT_RATE})


def test_the_ceiling_is_really_measured_again() -> None:
    """A processor of this century does between 0.1 and 10,000 Gflop/s on one thread."""
    rate = answers._again()
    assert rate is None or 1e8 < rate < 1e13


def test_kept_ceilings_are_listed_with_their_age(
    doctor: Callable[[], tuple[int, dict[str, Any], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_ceiling()
    monkeypatch.setattr(answers, "_again", lambda: KEPT_RATE)
    _, document, _ = doctor()
    (row,) = document["ceilings"]
    assert (row["device"], row["count"], row["problem"]) == (host.device_id(), 2, None)
    assert 0 <= row["age_s"] < 600


def test_an_interrupted_measurement_is_not_the_one_in_use(
    doctor: Callable[[], tuple[int, dict[str, Any], str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(answers, "_again", lambda: KEPT_RATE)
    partial = f"{kept.PARTIAL} interrupted before everything was measured"
    keep_ceiling(partial, threads=(1,))
    _, document, _ = doctor()
    assert [(row["count"], row["partial"]) for row in document["ceilings"]] == [(1, True)]
    assert main(["doctor"]) == 0
    assert "1 measured 0 minutes ago, interrupted" in " ".join(capsys.readouterr().out.split())
    keep_ceiling()
    keep_ceiling(partial, threads=(1,))
    _, document, _ = doctor()
    assert [(row["count"], row["partial"]) for row in document["ceilings"]] == [(2, False)]


def test_a_damaged_measurement_is_named(
    doctor: Callable[[], tuple[int, dict[str, Any], str]],
) -> None:
    keep_ceiling()
    kept.history(host.device_id())[-1].write_text("{")
    code, document, _ = doctor()
    assert code == 0
    assert "cannot be used" in document["ceilings"][0]["problem"]
    assert document["known_answers"][2]["status"] == "unknown"


def test_a_torch_that_fails_is_told_apart_from_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PROBE", "raise ImportError('libcudart.so.13 not found')")
    torch = machine.facts(machine.start_torch())["torch"]
    assert torch["version"] == metadata.version("torch")
    assert "libcudart.so.13 not found" in torch["problem"]
    assert machine.facts(None)["torch"] is None


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"cuda": None, "hip": None}, "2.13.0, built for the CPU only: cpu, H200"),
        ({"cuda": "13.0", "hip": None}, "2.13.0, built for CUDA 13.0: cpu, H200"),
        ({"cuda": None, "hip": "7.1"}, "2.13.0, built for ROCm 7.1: cpu, H200"),
        ({"problem": "no libcudart"}, "2.13.0 is installed but fails: no libcudart"),
    ],
)
def test_torch_in_words(found: dict[str, Any], told: str) -> None:
    common = {"version": "2.13.0", "devices": ["cpu", "H200"], "problem": None}
    assert doctor_command._torch(common | found) == told
    assert doctor_command._torch(None) == "not installed"


def test_nothing_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = machine.facts(None)
    assert facts["compiler"] is None
    assert set(facts["profilers"].values()) == {None}


@pytest.mark.parametrize(
    ("params", "admin_only", "meaning"),
    [
        ("EnableMSI: 1\nRmProfilingAdminOnly: 1\n", True, "administrators"),
        ("EnableMSI: 1\nRmProfilingAdminOnly: 0\n", False, "open to every user"),
        ("EnableMSI: 1\n", None, "does not say"),
    ],
)
def test_who_may_read_gpu_counters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, params: str, admin_only: bool, meaning: str
) -> None:
    (tmp_path / "params").write_text(params)
    monkeypatch.setattr(machine, "NVIDIA", tmp_path)
    nvidia = machine.facts(None)["counters"]["nvidia"]
    assert nvidia["admin_only"] is admin_only
    assert meaning in nvidia["meaning"]


@pytest.mark.parametrize(
    ("level", "meaning"),
    [(-1, "every user"), (1, "own processes"), (2, "user code"), (3, "CAP_PERFMON")],
)
def test_who_may_read_cpu_counters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, level: int, meaning: str
) -> None:
    (tmp_path / "paranoid").write_text(f"{level}\n")
    monkeypatch.setattr(machine, "PARANOID", tmp_path / "paranoid")
    cpu = machine.facts(None)["counters"]["cpu"]
    assert cpu["perf_event_paranoid"] == level
    assert meaning in cpu["meaning"]


def test_a_home_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "file" / "home"))
    assert machine.facts(None)["home"]["writable"] is False


def test_looking_makes_nothing(home: Path) -> None:
    assert machine.facts(None)["home"]["writable"] is True
    assert not home.exists()


def test_every_extra_exists_and_is_missing_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(machine.EXTRAS) <= set(metadata.metadata("roofline").get_all("Provides-Extra") or ())
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    (cpu,) = (e for e in machine.facts(None)["extras"] if e["name"] == "cpu")
    assert cpu["missing"] == ["llvmlite"]
    assert cpu["install"] == "pip install 'roofline[cpu]'"


def test_torch_is_not_imported_into_the_command_itself() -> None:
    code = "import sys; from roofline.cli import main; main(['doctor']); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
