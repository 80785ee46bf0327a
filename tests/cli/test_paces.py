"""The paces of a library's kernels are measured ceilings, too many to print one by one."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from roofline.cli import main
from roofline.cli.ceiling_table import paces, shown
from roofline.device import ELEMENTS, LAUNCH, Device
from roofline.devices import kept

RECORDED = Path(__file__).parents[1] / "data" / "accuracy-h200.json.gz"


@pytest.fixture
def card(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))
    raw = json.loads(gzip.decompress(RECORDED.read_bytes()))
    device = msgspec.convert(raw["device"], Device)
    kept.keep(device)
    return device


def test_the_table_has_all_but_the_paces_and_one_line_on_them(card):
    many = [c for c in card.ceilings if c.resource == ELEMENTS]

    assert len(shown(card)) == len(card.ceilings) - len(many)
    assert any(c.resource == LAUNCH for c in shown(card))
    assert paces(card).startswith(
        f"and {len(many)} paces of PyTorch's own kernels, 603 kelement/s to 2.31 Telement/s"
    )


def run(capsys, *words):
    assert main([*words]) == 0
    return capsys.readouterr().out


def test_devices_prints_the_line_and_keeps_the_paces(card, capsys):
    told = run(capsys, "devices", card.id)
    assert "paces of PyTorch's own kernels" in " ".join(told.split())
    assert "odd length" not in told

    assert "odd length" in run(capsys, "devices", card.id, "--json")
