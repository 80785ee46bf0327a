"""What became of a program since an earlier run: as data and as one paragraph."""

from typing import TYPE_CHECKING, Any

from roofline.diagnosis.moved import moved
from roofline.errors import BadInput
from roofline.runfile import Run

if TYPE_CHECKING:
    from rich.console import Console

Document = dict[str, Any]


def against(before: Run, now: Run) -> Document:
    """The verdict as plain data; it is null, with the reason, where there can be none."""
    when = before.recorder.recorded_at
    try:
        found = moved(before, now)
    except BadInput as why:
        return {
            "recorded_at": when,
            "verdict": None,
            "sentence": f"no verdict: {why}",
            "evidence": [],
        }
    return {
        "recorded_at": when,
        "verdict": found.verdict,
        "sentence": found.sentence,
        "evidence": list(found.evidence),
    }


def print_against(document: Document, console: "Console") -> None:
    """Print it."""
    from rich.padding import Padding
    from rich.text import Text

    when = document["recorded_at"] or "an earlier run"
    console.print(Text(f"\nagainst {when}: {document['sentence']}"))
    if document["evidence"]:
        console.print(Padding(Text("\n".join(document["evidence"]), style="dim"), (0, 0, 0, 6)))
