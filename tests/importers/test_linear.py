"""Damaged text of any length is read in a time that grows with it, not with its square."""

import time

import pytest

from roofline.errors import BadInput
from roofline.importers import load
from roofline.importers.ncu import pages

LONG = 400_000
EVENT = '{"ph": "X", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "cat": "cpu_op"}'


@pytest.fixture(autouse=True)
def _in_time():
    began = time.process_time()
    yield
    assert time.process_time() - began < 20


def test_names_without_an_end(tmp_path):
    path = tmp_path / "trace"
    path.write_text(f'{{"traceEvents": [{EVENT}, {{"ph": "X", ' + '"name":"' * LONG)
    assert len(load([path]).rows()) == 1


@pytest.mark.parametrize("lists", ["", '"records": [{"a": 1}, '])
def test_a_text_of_quotes_without_an_end(tmp_path, lists):
    path = tmp_path / "roofline.json"
    path.write_text('{"gbytes": {}, "gflops": {}, ' + lists + '"metadata": "' + r"\"" * LONG)
    with pytest.raises(BadInput, match=r"roofline\.json is damaged"):
        load([path])


def test_a_metric_of_any_length():
    name = "__" * LONG
    assert pages._plain(name + " (x") == (name + " (x", "")
    assert pages._plain(name + " (x)") == (name, "x")
