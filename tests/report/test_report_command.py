"""``roofline report``, and that the documents these tests are made of are like the real ones."""

import json
from pathlib import Path

import pytest

from roofline import runfile
from roofline.cli import main
from roofline.report.document import of_run
from tests.report import documents
from tests.runs import Script, call, tensor


def recording() -> Script:
    """Two steps: relu over 1,000,000 fp32, 8 MB through 10 GB/s = 800 us, measured in 1 ms."""
    x = tensor(1_000_000)
    relu = call("aten::relu", x, out=x)
    return Script().add(relu, us=1000).end_step().add(relu, us=1000).end_step()


def test_what_made_up_documents_hold_the_real_ones_hold_too() -> None:
    real, made = of_run(recording().run()), documents.layernorm()
    assert made.keys() <= real.keys()
    for part in ("device", "recorder", "program"):
        assert made[part].keys() <= real[part].keys(), part
    for part in ("items", "roof"):
        assert made[part][0].keys() <= real[part][0].keys(), part
    for part in ("bounds", "ledger", "spread"):
        one, other = (d["items"][0][part] for d in (made, real))
        one, other = (p[0] if isinstance(p, list) else p for p in (one, other))
        assert one.keys() <= other.keys(), part


def test_report_writes_one_file_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, page = tmp_path / "toy.roof", tmp_path / "toy.html"
    runfile.save(recording().run(), run)
    assert main(["report", str(run), "-o", str(page), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "schema": "roofline.report/1",
        "path": str(page),
        "bytes": page.stat().st_size,
        "items": 1,
    }
    assert said.err == ""
    assert '"name":"aten::relu"' in page.read_text(encoding="utf-8")


def test_without_a_name_the_page_is_called_as_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runfile.save(recording().run(), tmp_path / "toy.roof")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "toy.roof"]) == 0
    assert (tmp_path / "toy.html").exists()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "roofline: wrote toy.html\n")


def test_the_run_itself_is_never_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "toy.roof"
    runfile.save(recording().run(), run)
    before = run.read_bytes()
    assert main(["report", str(run), "-o", str(tmp_path / "." / "toy.roof")]) == 2
    assert "it is the run to report on" in capsys.readouterr().err
    assert run.read_bytes() == before


def test_a_page_takes_the_place_of_a_page_and_of_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, script, page = tmp_path / "toy.roof", tmp_path / "train.py", tmp_path / "toy.html"
    runfile.save(recording().run(), run)
    script.write_text("import torch\n")
    assert main(["report", str(run), "-o", str(script)]) == 2
    assert "train.py: it is there and is no page" in capsys.readouterr().err
    assert script.read_text() == "import torch\n"
    assert [main(["report", str(run), "-o", str(page)]) for _ in range(2)] == [0, 0]


def test_mistakes_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none.roof")]) == 2
    assert capsys.readouterr().err == f"roofline: no run file {tmp_path / 'none.roof'}\n"
    runfile.save(recording().run(), tmp_path / "toy.roof")
    assert main(["report", str(tmp_path / "toy.roof"), "-o", str(tmp_path / "no" / "x.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "toy.roof"), "--by", "colour"]) == 2
    assert "colour" in capsys.readouterr().err


@pytest.mark.browser
def test_the_page_of_a_real_run(open_page) -> None:
    page = open_page(of_run(recording().run()))
    # relu: 1,000,000 flop and 8,000,000 B; 8 MB / 10 GB/s = 800 us of 1 ms.
    row = page.eval_on_selector_all(
        "table.items tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    assert row == [
        [
            "relu",
            "1000000 fp32",
            "1",
            "1.00 ms",
            "800 us",
            "200 us",
            "80 %",
            "dram",
            "dram",
            "0.125",
            "",
            "other",
        ]
    ]
