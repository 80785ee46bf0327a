"""One offline page from a placement document.

The page is a template with its style, its script and the document inside: nothing is fetched, and
its content policy forbids that anything could be.  The script and the style are built from
``web/`` (see ``web/README.md``) and committed under ``page/``.  Answer and coverage are written
here, as markup, so that they can be read where scripts do not run; all else is drawn from the
embedded document, whose numbers are in base units as everywhere.
"""

import base64
import hashlib
import json
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from roofline.report.crossed import whole_step
from roofline.units import number_of
from roofline.whole import place_for, whole

Document = dict[str, Any]


def render(document: Document) -> str:
    """The page for `document` (schema ``roofline.placement/1``), as text of an HTML file.

    A number that is not finite raises ValueError: unknown is None.
    """
    style, script = _asset("page.css"), _asset("page.js")
    program = _program(document)
    return Template(_asset("page.html")).substitute(
        title=escape(f"{program} - roofline"),
        program=escape(program),
        device=escape(_device(document)),
        answer="".join(f"<p>{escape(sentence)}</p>" for sentence in document["answer"]),
        coverage=_coverage(document),
        counters=_counters(document),
        style=style,
        style_hash=_digest(style),
        script=script,
        script_hash=_digest(script),
        document=_embedded(document),
    )


def page_at(path: Path) -> Path:
    """The full path of a page that is to be written.

    Raises BadInput where it could not be, or would take the place of a file that is no page.
    """
    return place_for(path, b"<!doctype html>", "page")


def write(document: Document, path: Path) -> None:
    """Write the page to `path`, whole or not at all; an earlier file stays until then."""
    page = render(document)
    with whole(path) as file:
        file.write_text(page, encoding="utf-8")


def _program(document: Document) -> str:
    recorder, device = document["recorder"], document["device"]
    if recorder is not None and recorder["program"]:
        return str(recorder["program"])
    return str(device["name"]) if device is not None else "A run"


def _device(document: Document) -> str:
    device, recorder = document["device"], document["recorder"]
    if device is None:
        return "No device with ceilings is known."
    threads = device["threads"]
    said = [
        device["name"],
        f"{device['basis']} ceilings" if device["basis"] else None,
        number_of(threads, "thread") if threads is not None else None,
        f"recorded {_when(recorder['recorded_at'])}"
        if recorder and recorder["recorded_at"]
        else None,
    ]
    return ", ".join(str(part) for part in said if part)


def _when(stamp: str) -> str:
    """A time to the minute; what is no time stays as it is."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return stamp


def _coverage(document: Document) -> str:
    """What the times cover, and what the recorder itself doubts of them."""
    coverage, recorder = document["coverage"], document["recorder"] or {}
    doubts = "".join(f" Doubt: {escape(text)}." for text in recorder.get("warnings", ()))
    if coverage is None:
        return f"Coverage unknown: no times were measured.{doubts}"
    in_part = (document["program"] or {}).get("in_part")
    partly = f", and another {in_part:.1%} a count of part of them" if in_part else ""
    return (
        f"<strong>Coverage {coverage:.1%}</strong> of operator time has a complete count of its "
        f"arithmetic and bytes{partly}.{doubts}"
    )


def _counters(document: Document) -> str:
    """What crossed in one step as counters saw it, and how they did; nothing without counters."""
    said = whole_step(document["program"])
    if not said:
        return ""
    how = (document["recorder"] or {}).get("counters")
    by = f" Counters: {escape(how)}." if how else ""
    moved, colon, rest = said.partition(":")
    strong = f"<strong>{escape(moved[0].upper() + moved[1:])}</strong>"
    return f'<p class="coverage">{strong}{colon}{escape(rest)}.{by}</p>'


def _embedded(document: Document) -> str:
    """The document as JSON that cannot end its element: every ``<`` is written as an escape."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (files("roofline.report") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The source expression by which a content policy allows exactly this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
