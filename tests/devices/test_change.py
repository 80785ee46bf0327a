"""Two measurements beside each other, and printed peaks at another clock."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import msgspec
import pytest

from roofline import devices
from roofline.cli import main
from roofline.device import DRAM, L2, TENSOR_BF16, VECTOR_FP32, Ceiling, Device, Fact
from roofline.devices import kept
from roofline.devices.change import changes, circumstances
from roofline.devices.clock import at_clock
from roofline.provenance import Basis, Provenance, spread

DATA = Path(__file__).parents[1] / "data"
WHERE = Provenance(basis=Basis.MEASURED, source="a loop", as_of=date(2026, 1, 2))


def ceiling(resource, rate, width=0.002, clock_hz=None, unstable=""):
    samples = [rate * (1 + width * (i - 10) / 10) for i in range(21)]
    where = replace(WHERE, spread=spread(samples, unstable=unstable))
    return Ceiling(resource=resource, rate=rate, provenance=where, clock_hz=clock_hz)


def device(*ceilings, driver="580"):
    fact = Fact(name="driver", value=driver, unit="", provenance=WHERE)
    return Device(id="toy", name="Toy", kind="gpu", ceilings=ceilings, facts=(fact,))


def verdict(before, after):
    (change,) = changes(device(*before), device(*after))
    return change.verdict


def test_verdicts():
    one = ceiling(DRAM, 100e9)
    assert verdict([one], [one]) == "same"
    assert verdict([one], [ceiling(DRAM, 95e9)]) == "slower"
    assert verdict([one], [ceiling(DRAM, 105e9)]) == "faster"
    assert verdict([one], [ceiling(DRAM, 100.9e9)]) == "same"  # under 1 %, intervals apart
    assert verdict([ceiling(DRAM, 100e9, 0.2)], [ceiling(DRAM, 103e9, 0.2)]) == "same"  # overlap
    assert verdict([one], [ceiling(DRAM, 80e9, unstable="drifting")]) == "unstable"
    assert verdict([one], []) == "gone"
    assert verdict([], [one]) == "new"


def test_ratios_of_rate_and_clock():
    before, after = (
        ceiling(VECTOR_FP32, 60e12, clock_hz=2e9),
        ceiling(VECTOR_FP32, 54e12, clock_hz=1.8e9),
    )
    (change,) = changes(device(before), device(after))
    assert (change.ratio, change.clock_ratio) == (pytest.approx(0.9), pytest.approx(0.9))
    (change,) = changes(device(before), device(ceiling(VECTOR_FP32, 54e12)))
    assert change.clock_ratio is None


def test_facts_that_differ():
    found = list(circumstances(device(driver="570"), device(driver="580")))
    assert found == [("driver", "570", "580")]


@pytest.fixture
def two(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    kept.keep(device(ceiling(DRAM, 100e9), ceiling(L2, 1e12), driver="570"))
    kept.keep(device(ceiling(DRAM, 90e9)))
    return tmp_path


def test_kept_measurements_by_age(two, capsys):
    assert main(["devices", "--diff", "toy~1", "toy", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["schema"] == "roofline.devices-diff/1"
    assert [(c["resource"], c["verdict"]) for c in shown["changes"]] == [
        ("dram", "slower"),
        ("l2", "gone"),
    ]
    assert shown["changes"][0]["ratio"] == pytest.approx(0.9)
    assert shown["facts"] == [{"name": "driver", "before": "570", "after": "580"}]

    assert main(["devices", "--diff", "toy~1", "toy"]) == 0
    out = capsys.readouterr().out
    assert "0.900" in out
    assert "driver: 570, now 580" in out


def test_files(two, tmp_path, capsys):
    path = tmp_path / "before.json"
    document = {"schema": kept.SCHEMA, "device": device(ceiling(DRAM, 45e9))}
    path.write_bytes(msgspec.json.encode(document))
    assert main(["devices", "--diff", str(path), "toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["ratio"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--diff", "toy~2", "toy"], "keeps 2 of toy"),
        (
            ["--diff", "h200", "toy"],
            "keeps 0 of nvidia-h200-sxm-141gb",
        ),
        (["toy", "--diff", "toy", "toy"], "takes no 'toy' beside them"),
    ],
)
def test_mistakes(two, capsys, arguments, said):
    assert main(["devices", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_none(two, tmp_path, capsys):
    (tmp_path / "x.json").write_text("{")
    assert main(["devices", "--diff", str(tmp_path / "x.json"), "toy"]) == 2
    assert "x.json is no measurement that can be read" in capsys.readouterr().err


def test_printed_peaks_go_with_the_clock():
    """989 Tflop/s at 1.83 GHz are 753.9 at 1.395; 67 at 1.98 GHz are 47.2."""
    sheet = devices.find("h200")
    assert at_clock(sheet, TENSOR_BF16, 1.395e9) == pytest.approx(989e12 * 1.395 / 1.83)
    assert at_clock(sheet, VECTOR_FP32, 1.395e9) == pytest.approx(67e12 * 1.395 / 1.98)
    assert at_clock(sheet, DRAM, 1.395e9) is None  # memory has a clock of its own
    assert at_clock(device(ceiling(VECTOR_FP32, 1e12)), VECTOR_FP32, 1e9) is None  # not printed


@pytest.mark.parametrize("columns", [100, 110])
def test_a_table_of_a_hundred_columns_has_its_verdicts(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    files = [str(DATA / f"h200-measured{which}.json") for which in ("", "-648ac89b")]
    assert main(["devices", "--diff", *files]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
    assert max(map(len, lines)) <= columns
    assert lines[2].split() == ["ceiling", "of", "before", "after", "ratio", "clock", "verdict"]
    (reduced,) = [line for line in lines if "reduced to one, 2 B" in line]
    assert reduced.split()[-3:] == ["2.09", "Telement/s", "new"]
    (triad,) = [line for line in lines if line.split()[:2] == ["l2", "triad"]]
    assert triad.split()[-3:] == ["1.171", "1.000", "faster"]
