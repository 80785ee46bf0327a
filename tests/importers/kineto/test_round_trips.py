"""Imported, imported again under another name, saved and loaded: the same run."""

import gzip
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from roofline import runfile
from roofline.importers import load
from roofline.report.document import of_run

SAMPLES = sorted((Path(__file__).parent / "torch-2.11").glob("*.json.gz"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_another_name_is_the_same_run(path, tmp_path):
    shutil.copy(path, tmp_path / "renamed.csv")
    (tmp_path / "plain").write_bytes(gzip.decompress(path.read_bytes()))
    first = load([path])
    for other in ("renamed.csv", "plain"):
        again = load([tmp_path / other])
        assert again.rows() == first.rows()
        assert (again.signatures, again.steps, again.gaps) == (
            first.signatures, first.steps, first.gaps,
        )  # fmt: skip
        assert replace(again.recorder, program="") == replace(first.recorder, program="")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_saved_and_loaded_is_a_fixed_point(path, tmp_path):
    first = load([path])
    runfile.save(first, tmp_path / "one.roof")
    once = runfile.load(tmp_path / "one.roof")
    runfile.save(once, tmp_path / "two.roof")
    twice = runfile.load(tmp_path / "two.roof")

    for run in (once, twice):
        assert run.rows() == first.rows()
        assert (run.signatures, run.steps, run.gaps, run.recorder, run.device) == (
            first.signatures, first.steps, first.gaps, first.recorder, first.device,
        )  # fmt: skip
        assert of_run(run) == of_run(first)
