"""A document in one line: what a Python prompt or a log shows of it."""

from typing import Any

from roofline.report.text import seconds
from roofline.units import number_of, show, show_share

Document = dict[str, Any]
NAMED = 3  # of what is unknown


def of_run(document: Document) -> str:
    """Program, device, time of a step against its roof, coverage, and the first finding."""
    device, recorder, whole = document["device"], document["recorder"], document["program"]
    name = recorder["program"] if recorder and recorder["program"] else "a run"
    where = f" on {device['name']}" if device else ""
    said = [_times(document["items"], whole), _coverage(document["coverage"])]
    if findings := document["findings"]:
        saves = findings[0]["saves_s"]
        worth = f" (saves at most {seconds(saves)} a step)" if saves else ""
        said.append(f"{findings[0]['code']} {findings[0]['claim']}{worth}")
    return f"{name}{where}: {'; '.join(text for text in said if text)}"


def _times(items: list[Document], whole: Document | None) -> str:
    took_s = whole and (whole["step_s"] or whole["busy_s"])
    if not whole or not took_s:
        return f"{number_of(len(items), 'line')} without times"
    what = " a step" if whole["steps"] > 1 else "" if whole["step_s"] else " of kernels"
    roof_s = whole["roof_s"]
    against = f" against a roof of {seconds(roof_s)}, {show_share(roof_s / took_s)}"
    return f"{seconds(took_s)}{what}{against if roof_s else ''}"


def _coverage(share: float | None) -> str:
    return "coverage unknown" if share is None else f"coverage {share:.1%}"


def of_account(document: Document) -> str:
    """What was counted: flop and bytes of all calls, and how much is missing."""
    calls = number_of(document["calls"], "operator call")
    if document["flop"] is None:
        unknown = _missing(document["unaccounted"])
        return f"{document['subject']}: {calls}, nothing accounted for{unknown}"
    least = "" if document["complete"] else "at least "
    moved = document["read"] + document["written"]
    return (
        f"{document['subject']}: {calls}, {least}{show(document['flop'], 'flop')} and "
        f"{least}{show(moved, 'B')} over dram{_missing(document['unaccounted'])}"
    )


def _missing(unaccounted: list[Document]) -> str:
    """What the amounts leave out: by name the first few."""
    if not unaccounted:
        return ""
    more = len(unaccounted) - NAMED
    names = [str(one["name"]) for one in unaccounted[:NAMED]]
    return f"; nothing known of {', '.join(names)}{f' and {more} more' if more > 0 else ''}"
