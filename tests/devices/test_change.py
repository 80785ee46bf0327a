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
    assert verdict([one], [ceiling(DRAM, 80e9, unstable="drifting")]) == "unstable"
    assert verdict([one], []) == "gone"
    assert verdict([], [one]) == "new"


@pytest.mark.parametrize("rate", [100e9, 103e9, 135.5e9, 91e9])
def test_wide_intervals_say_nothing(rate):
    """Of 21 samples the interval of the median is from the 6th to the 16th: -10 % to 0 here."""
    assert verdict([ceiling(DRAM, 100e9, 0.4)], [ceiling(DRAM, rate, 0.4)]) == "unclear"


def test_the_same_excludes_a_change_of_five_percent():
    """Intervals of 97 to 103 each: the ratio is between 97/103 = 0.942 and 1.062."""
    of_three, of_two = ceiling(DRAM, 100e9, 0.06), ceiling(DRAM, 100e9, 0.04)
    assert (of_three.provenance.spread.low, of_three.provenance.spread.high) == (97e9, 103e9)
    assert verdict([of_three], [of_three]) == "unclear"
    assert verdict([of_two], [of_two]) == "same"  # 98/102 = 0.961 to 1.041


@pytest.mark.parametrize("rate", [50e9, 100e9, 200e9])
def test_a_median_without_an_interval_proves_nothing(rate):
    one, five = ceiling(DRAM, 100e9), replace(WHERE, spread=spread([rate] * 5))
    for where in (five, WHERE):
        few = Ceiling(resource=DRAM, rate=rate, provenance=where)
        assert verdict([one], [few]) == verdict([few], [one]) == "unclear"


def timed(rate, source, conditions=""):
    one = ceiling(L2, rate)
    where = replace(one.provenance, source=source, conditions=conditions)
    return replace(one, provenance=where)


def test_another_method_is_neither_faster_nor_slower():
    old = timed(9.96e12, "Triton triad", "fp32, 41.78 MiB, all arrays together; driver 580")
    new = timed(11.7e12, "Triton triad", "fp32, 17.04 MiB, all arrays together; driver 580")
    assert verdict([old], [new]) == "other method"
    assert verdict([old], [replace(old, rate=9.97e12)]) == "same"
    (change,) = changes(device(old), device(new))
    assert change.before_method == ("Triton triad", "fp32, 41.78 MiB, all arrays together")


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
    ((name, was, now),) = circumstances(device(driver="570"), device(driver="580"))
    assert (name, was.value, now.value) == ("driver", "570", "580")
    (row,) = circumstances(replace(device(), facts=()), device())
    assert row == ("driver", None, device().facts[0])
    assert list(circumstances(device(), device())) == []


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
    assert shown["facts"] == [{"name": "driver", "unit": "", "before": "570", "after": "580"}]

    assert main(["devices", "--diff", "toy~1", "toy"]) == 0
    out = capsys.readouterr().out
    assert "0.900" in out
    assert "driver: 570, now 580" in out


def test_facts_have_their_units(tmp_path, capsys):
    """Those that differ beyond the digits shown are not printed twice over."""
    paths = []
    for fault_s, l2_bytes in ((2.3365773927919165e-06, 2**20), (2.6073986815200456e-06, 2**21)):
        facts = tuple(
            Fact(name=name, value=value, unit=unit, provenance=WHERE)
            for name, value, unit in (
                ("page_fault", fault_s, "s"),
                ("l2_capacity", l2_bytes, "B"),
                ("memory", 1e11 + l2_bytes, "B"),
            )
        )
        paths.append(tmp_path / f"{l2_bytes}.json")
        document = {"schema": kept.SCHEMA, "device": replace(device(), facts=facts)}
        paths[-1].write_bytes(msgspec.json.encode(document))
    assert main(["devices", "--diff", *map(str, paths)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-2:] == [
        "page_fault: 2.34 us, now 2.61 us",
        "l2_capacity: 1 MiB, now 2 MiB",
    ]
    assert main(["devices", "--diff", *map(str, paths), "--json"]) == 0
    fault, _, memory = json.loads(capsys.readouterr().out)["facts"]
    assert (fault["before"], fault["unit"]) == (2.3365773927919165e-06, "s")
    assert memory["after"] - memory["before"] == 2**20


def test_an_interrupted_measurement_is_none_of_those_that_are_compared(two, capsys):
    kept.keep(replace(device(ceiling(DRAM, 10e9)), note=f"{kept.PARTIAL} interrupted"))
    assert main(["devices", "--diff", "toy~1", "toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["ratio"] == pytest.approx(0.9)
    assert main(["devices", "toy", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["devices"]
    assert listed["ceilings"][0]["rate"] == 90e9


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
    (triad,) = [line for line in lines if line.split()[:2] == ["l2", "triad"] and "TB/s" in line]
    assert triad.split()[-4:] == ["1.171", "1.000", "other", "method"]
    told = out[out.index("l2 triad was timed with another method:") :].split()
    assert told.index("41.78") < told.index("now:") < told.index("17.04")
    (read,) = [line for line in lines if line.split()[:2] == ["l2", "read"]]
    assert read.split()[-3:] == ["0.998", "1.000", "same"]
